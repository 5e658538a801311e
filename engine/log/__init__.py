"""The log of deliveries as callers see it."""
