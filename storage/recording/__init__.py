"""The store of the recorder: outcomes of attempts, and all rows that change with them."""
