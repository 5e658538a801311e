"""The numbered SQL files of the schema, and the program that applies them."""
