"""Replay jobs: what was delivered or died is sent again, behind all that is live."""
