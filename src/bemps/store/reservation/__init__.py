"""Who may answer what: leases of items, and the share of each person."""
