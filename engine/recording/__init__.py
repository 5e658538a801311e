"""The recorder: outcomes of attempts on their way to the store, and what is counted of them."""
