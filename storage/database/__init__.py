"""The connections to one PostgreSQL: their opening, lending, statements, time limits and errors."""
