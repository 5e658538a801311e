"""The engine's records, identifiers, errors and read models. Of ours it imports the core alone."""
