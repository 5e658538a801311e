"""Encryption at rest: the master keys, their files, and their rotation."""
