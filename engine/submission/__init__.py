"""Submissions: events with their deliveries on their way to the intake, claims of keys, and answers."""
