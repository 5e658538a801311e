"""The store of the intake: groups of events with their deliveries, and their idempotency keys."""
