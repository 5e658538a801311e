"""Chaos tests: real servers, databases and sockets under disturbances that are drawn from a seed."""
