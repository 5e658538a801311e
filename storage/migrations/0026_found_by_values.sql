-- What lists need that are asked for what few rows have: summaries of which values a range of pages has. They
-- are made when a partition is vacuumed, so an insert pays for a look at an empty place, and 10,000,000
-- deliveries take 4 MB. Columns that an update changes are summarised from PostgreSQL 16 on: before it such an
-- index would make every update of a delivery one of all its indexes.
DO $$
DECLARE
    settled text := '';
BEGIN
    IF current_setting('server_version_num')::integer >= 160000 THEN
        settled := ', status int2_bloom_ops (n_distinct_per_range = 16),
            response_status int2_bloom_ops (n_distinct_per_range = 16),
            error_category int2_bloom_ops (n_distinct_per_range = 16)';
    END IF;
    EXECUTE 'CREATE INDEX deliveries_found ON deliveries USING brin (id uuid_minmax_ops,
        event_type text_bloom_ops (n_distinct_per_range = 200),
        customer text_bloom_ops (n_distinct_per_range = 500),
        replay_job uuid_bloom_ops (n_distinct_per_range = 32),
        kind int2_bloom_ops (n_distinct_per_range = 16),
        origin int2_bloom_ops (n_distinct_per_range = 16),
        priority int2_bloom_ops (n_distinct_per_range = 16)' || settled || '
    ) WITH (pages_per_range = 128)';
END $$;
CREATE INDEX events_found ON events USING brin (id uuid_minmax_ops,
    type text_bloom_ops (n_distinct_per_range = 200),
    customer text_bloom_ops (n_distinct_per_range = 1000),
    idempotency_key text_bloom_ops (n_distinct_per_range = 2000),
    deliveries int2_minmax_ops
) WITH (pages_per_range = 32);
-- An event without such an id has no entry.
CREATE INDEX events_by_correlation ON events (environment, correlation_id, id) WHERE correlation_id IS NOT NULL;
CREATE INDEX events_by_request ON events (environment, request_id, id) WHERE request_id IS NOT NULL;
