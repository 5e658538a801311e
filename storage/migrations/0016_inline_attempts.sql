-- The one attempt of a delivery that succeeds at once, and whose response is small, is kept in the delivery's
-- own row, which that success writes in any case: nine of ten attempts need neither a row nor an index entry.

ALTER TABLE deliveries
    ADD COLUMN only_duration_ms     integer,  -- null: whatever attempts it had are rows of their own
    ADD COLUMN only_version         integer,  -- of the destination
    ADD COLUMN only_transform       integer,  -- the version of its script
    ADD COLUMN only_headers         bytea,    -- as in `attempts`
    ADD COLUMN only_body            bytea;

-- All attempts, wherever they are. Who asks for one delivery's is served by the two primary keys.
CREATE VIEW attempt_log AS
    SELECT environment, delivery, number, started_at_ms, duration_ms, success, destination_version,
           transform_version, response_status, response_truncated, response_headers, response_body,
           error_category, error_message, logs
    FROM attempts
UNION ALL
    SELECT environment, id, 1, delivered_at_ms - only_duration_ms, only_duration_ms, true, only_version,
           only_transform, response_status, false, only_headers, only_body,
           NULL::smallint, NULL::bytea, NULL::bytea
    FROM deliveries WHERE only_duration_ms IS NOT NULL;

-- The days that are made already leave as much room in their pages as those that will be made.
DO $$
DECLARE day regclass;
BEGIN
    FOR day IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'deliveries'::regclass LOOP
        EXECUTE format('ALTER TABLE %s SET (fillfactor = 30)', day);
    END LOOP;
END $$;
