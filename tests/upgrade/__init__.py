"""Upgrades: what a former release has left is opened by this one, and one gives way to the next."""
