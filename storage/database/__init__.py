"""The connections to one PostgreSQL: opened, lent, their statements, time limits and errors."""
