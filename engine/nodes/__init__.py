"""The decisions of several servers on one database: liveness and placement. Nothing here does I/O."""
