"""Backups of the embedded data and their restoration: each is complete and checked, or it does not
exist."""
