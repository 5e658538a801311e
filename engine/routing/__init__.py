"""Routing: the search for an event's destinations, with an index of rules and with filters."""
