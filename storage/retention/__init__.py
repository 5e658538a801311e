"""The periodic work on the database, which makes partitions ahead and removes old rows, and erasure."""
