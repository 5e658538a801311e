"""Routing: from an event to its destinations, by an index of rules and by filters in turns."""
