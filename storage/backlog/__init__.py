"""The backlog of deliveries: read back for actors, and the reads that recovery starts from."""
