"""Backups of an embedded database: made, proved, checked and restored."""
