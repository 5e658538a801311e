"""The connections to one PostgreSQL: their pools, statements, time limits and errors."""
