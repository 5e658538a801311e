-- How often an event has come back from a delivery of this service; null: it came from elsewhere.
ALTER TABLE events ADD COLUMN hops smallint;
