# Made of the API's routes by `python -m api.generation`; do not edit.
"""The synchronous client: `made` is generated from the API's routes, the rest is written by hand."""
