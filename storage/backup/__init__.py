"""Backups of an embedded database: how they are made, proved, checked and restored."""
