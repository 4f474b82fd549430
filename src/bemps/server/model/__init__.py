"""The model of the labelling page: its process, its training, and what it reports."""
