"""Records, identifiers, errors and read models of the engine. They import only the core."""
