"""The client libraries' common behavior: one table of cases, and a driver for each language."""
