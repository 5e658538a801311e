"""The store of the recorder: outcomes of attempts, and all that changes with them."""
