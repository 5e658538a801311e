# Made of the API's routes by `python -m api.generation`; do not edit.
"""The modules made from the route table for commands."""
