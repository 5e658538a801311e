"""The asynchronous client, written by hand; `angarium.sync` is made from it, and never edited."""
