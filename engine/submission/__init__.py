"""The submissions of ingestion requests to the intake, and the replies to these requests."""
