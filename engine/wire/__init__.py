"""Outbound HTTP/1.1 on the reactor: addresses, connections, framing and signatures."""
