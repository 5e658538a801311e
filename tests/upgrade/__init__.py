"""Upgrades: this release opens an earlier release's data, and one release replaces another."""
