"""Event schemas. Each is judged when it is made, so that the cost of checking an event is bounded."""
