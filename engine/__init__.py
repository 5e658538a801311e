"""The delivery engine: from an accepted request to a recorded outcome.

It declares what it needs of a database in `engine.ports` and of the network in `engine.wire`;
it imports neither `api` nor `storage`.
"""
