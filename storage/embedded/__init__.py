"""The PostgreSQL server that Angarium brings along: its configuration, account, start and end."""
