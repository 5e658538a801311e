-- Destinations whose concurrency finds itself. `concurrency` goes on holding a number for them.
ALTER TABLE destinations ADD COLUMN adapts boolean NOT NULL DEFAULT false;
