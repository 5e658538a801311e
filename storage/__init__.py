"""The access to PostgreSQL: the only package that uses asyncio and SQL."""
