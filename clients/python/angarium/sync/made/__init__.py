# Made of the API's routes by `python -m api.generation`; do not edit.
"""The methods made from the API's routes."""
