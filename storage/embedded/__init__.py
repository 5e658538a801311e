"""The embedded PostgreSQL server: its configuration, account, start and stop."""
