"""Tests of the wire: framing, signatures, addresses, pools, and a book of hostile receivers."""
