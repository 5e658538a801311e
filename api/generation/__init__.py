"""The generator of the repository's files that are made from the route table.

`python -m api.generation` writes them; a test fails if the repository's files differ.
"""
