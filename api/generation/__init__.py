"""The generator of all files that come from the route table and are kept in the repository.

`python -m api.generation` writes them; a test fails if the repository's files differ.
"""
