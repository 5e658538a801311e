"""The delivery engine: from an accepted request to a recorded outcome.

It imports neither `api` nor `storage`.
"""
