# Made from angarium/aio by generate_sync.py; do not edit.
"""The synchronous client, made from `angarium.aio`."""
