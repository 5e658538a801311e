"""The generator of the repository's files that are made from the route table.

`python -m api.generation` writes these files. A test fails if the files in the repository differ from
the generated files.
"""
