"""The process nemesis: real servers, databases and sockets under disturbances drawn from a seed."""
