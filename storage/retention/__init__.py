"""The periodic job that makes partitions and removes old rows, and the erasure of contents."""
