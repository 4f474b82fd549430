"""Which item comes next, for whom, and how answers reach the store."""
