"""The decisions of servers that share one database: liveness and placement. Nothing here does I/O."""
