"""The doors, one a module."""
