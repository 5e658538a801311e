"""The tools that prepare what browsers load."""
