"""Destination actors: mailboxes, turns, timers, activation and supervision around the pure core."""
