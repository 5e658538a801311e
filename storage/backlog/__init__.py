"""The reads of the backlog of deliveries: for actors, for recovery and for callers."""
