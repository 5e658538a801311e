"""The deliveries that wait: read back for actors, and what recovery starts from."""
