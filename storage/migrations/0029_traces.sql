-- The trace that an event belongs to (W3C Trace Context): a traceparent, and after a blank the tracestate.
-- Null: it belongs to none.
ALTER TABLE events ADD COLUMN trace text;
