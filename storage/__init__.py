"""The access to PostgreSQL: the only package that knows asyncio and SQL."""
