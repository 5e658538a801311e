"""Backups of the embedded data, and what becomes of them: whole, checked, or not there."""
