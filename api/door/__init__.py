"""The front door: our own server for HTTP/1.1 and HTTP/2, on the reactor."""
