"""The recorder: it writes the outcomes of attempts to the store, and has them counted and announced."""
