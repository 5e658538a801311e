"""The front door: our own HTTP/1.1 listener on the reactor."""
