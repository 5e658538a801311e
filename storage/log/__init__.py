"""The log of events and deliveries: its partitions, and its pages as callers read them."""
