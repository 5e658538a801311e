# Made of the API's routes by `python -m api.generation`; do not edit.
"""The methods that are made of the API's routes."""
