"""Event schemas: judged when they are made, so that checking an event has a known cost."""
