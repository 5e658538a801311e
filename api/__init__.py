"""HTTP: the front door, the Quart application and the command line."""
