"""The recorder's store, which writes outcomes of attempts, and all rows that change with them."""
