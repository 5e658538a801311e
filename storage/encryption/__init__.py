"""Encryption at rest: the master keys, where they are kept, and their replacement."""
