"""The logs and counters as callers read them."""
