"""The periodic work on the database: partitions made ahead, and old rows removed."""
