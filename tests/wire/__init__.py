"""Tests of the wire: framing, signatures, addresses, connections, and a table of hostile receivers."""
