-- When somebody had an event's content erased: its payload is JSON's null from then on.
ALTER TABLE events ADD COLUMN erased_at_ms bigint;
