"""What holds the simulated database to PostgreSQL: the same calls, the same answers, the same rows."""
