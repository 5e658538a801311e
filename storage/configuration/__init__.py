"""The configuration's tables: a module for each kind of object, and the store of them all."""
