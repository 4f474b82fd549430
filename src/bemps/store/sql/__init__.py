"""The SQL side of the store: connections, tables, schema versions, the lock of a server."""
