"""Backups of the embedded data, and their restoration. A backup is complete and checked, or it does not
exist. No server starts on a data folder that was restored only in part."""
