"""Event schemas: judged when they are made, so that holding an event to one has a known cost."""
