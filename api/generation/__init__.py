"""The generator of all files that the repository has from the route table.

`python -m api.generation` writes them; a test fails if the repository's files differ.
"""
