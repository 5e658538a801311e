"""The numbered SQL files that make the schema, and the program that applies them."""
