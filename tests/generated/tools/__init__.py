"""Generators, linters and libraries for clients, each pinned by hash."""
