"""The delivery engine: from an accepted request to a recorded outcome.

Its protocols, such as those of `engine.ports`, declare what it needs from a database. It imports neither
`api` nor `storage`.
"""
