"""Tests of the wire: framing, signatures, addresses, pools, and a table of hostile receivers."""
