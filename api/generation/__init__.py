"""The generator of everything that is made of the route table and kept in the repository.

`python -m api.generation` writes it; a test fails when the repository holds anything else.
"""
