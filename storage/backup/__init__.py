"""Backups of an embedded database: making, proving, checking and restoring them."""
