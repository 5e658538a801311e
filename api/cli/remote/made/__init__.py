# Made of the API's routes by `python -m api.generation`; do not edit.
"""What is made of the route table for commands."""
