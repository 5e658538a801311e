"""Submissions to the intake: events with deliveries and claims of idempotency keys; and the replies."""
