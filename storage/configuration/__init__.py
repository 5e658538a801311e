"""The configuration, a module for each kind of object, and the store that holds them together."""
