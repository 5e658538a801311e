-- The delivery log and what recovers it. Every key begins with the environment's number; events and
-- deliveries are partitioned by their own id (UUIDv7, so by time), attempts by their delivery's.
-- Tenants' and receivers' bytes are bytea: \0 is valid UTF-8 and no Postgres text.

CREATE SEQUENCE intake_group AS bigint;

-- Within a row the fixed-width columns that are never null come first: their offsets are then known, which
-- every index entry and every update needs.
CREATE TABLE events (
    occurred_at_ms  bigint   NOT NULL,
    environment     integer  NOT NULL,
    deliveries      smallint NOT NULL DEFAULT 0,
    origin          smallint NOT NULL,
    id              uuid     NOT NULL,
    type            text     NOT NULL,
    payload         bytea    NOT NULL,
    customer        text,
    source          text,
    correlation_id  text,
    request_id      text,
    idempotency_key text,
    metadata        bytea,
    attachments     bytea,
    file            uuid,
    PRIMARY KEY (environment, id)
) PARTITION BY RANGE (id);

CREATE TABLE deliveries (
    seq                bigint   NOT NULL,   -- 0 for an INSPECTION, which never waits
    environment        integer  NOT NULL,
    attempt_count      integer  NOT NULL DEFAULT 0,
    schedule_start     integer  NOT NULL DEFAULT 0,
    id                 uuid     NOT NULL,   -- a NORMAL delivery's is its event's, with the last 12 bits counted up
    event              uuid     NOT NULL,
    destination        uuid     NOT NULL,
    class              smallint NOT NULL,
    kind               smallint NOT NULL DEFAULT 1,
    origin             smallint NOT NULL DEFAULT 1,
    priority           smallint NOT NULL DEFAULT 1,
    status             smallint NOT NULL DEFAULT 0,
    skipped            boolean  NOT NULL DEFAULT false,
    event_type         text     NOT NULL,
    response_status    smallint,
    trouble            smallint,            -- null while all goes well: what the partial indexes name
    dlq_status         smallint,
    error_category     smallint,
    next_attempt_at_ms bigint,
    delivered_at_ms    bigint,
    dead_lettered_at_ms bigint,
    updated_at_ms      bigint,              -- null until something happened
    lane               text,
    customer           text,
    last_error         bytea,
    replay_of          uuid,
    replay_job         uuid,
    PRIMARY KEY (environment, id)
) PARTITION BY RANGE (id);

CREATE INDEX deliveries_queue ON deliveries (environment, destination, class, seq);
CREATE INDEX deliveries_by_destination ON deliveries (environment, destination, id);
CREATE INDEX deliveries_due ON deliveries (environment, destination, next_attempt_at_ms) WHERE trouble = 1;
CREATE INDEX deliveries_trouble ON deliveries (environment, trouble, id) WHERE trouble IS NOT NULL;
CREATE INDEX deliveries_trouble_by_destination ON deliveries (environment, destination, trouble, id)
    WHERE trouble IS NOT NULL;
-- NORMAL deliveries of an event are a range of the primary key; the others are few.
CREATE INDEX deliveries_by_event ON deliveries (environment, event, id) WHERE origin <> 1;

CREATE TABLE attempts (
    started_at_ms       bigint   NOT NULL,
    environment         integer  NOT NULL,
    number              integer  NOT NULL,
    duration_ms         integer  NOT NULL,
    destination_version integer  NOT NULL,
    delivery            uuid     NOT NULL,
    success             boolean  NOT NULL,
    response_truncated  boolean  NOT NULL DEFAULT false,
    response_status     smallint,
    error_category      smallint,
    transform_version   integer,
    error_message       bytea,              -- UTF-8
    response_headers    bytea,              -- `name: value` lines, ended by CR LF
    response_body       bytea,
    logs                bytea,
    PRIMARY KEY (environment, delivery, number)
) PARTITION BY RANGE (delivery);

CREATE TABLE idempotency (
    environment integer  NOT NULL,
    key         text     NOT NULL,
    event       uuid     NOT NULL,
    deliveries  smallint NOT NULL,
    digest      bytea    NOT NULL,          -- SHA-256 of type, customer and payload
    expires_at_ms bigint NOT NULL,
    PRIMARY KEY (environment, key)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_at_ms);

-- A row while a destination has unsettled work: what recovery reads instead of an index on status.
CREATE TABLE destination_backlog (
    environment   integer  NOT NULL,
    destination   uuid     NOT NULL,
    shard         smallint NOT NULL,
    low_seq       bigint   NOT NULL,        -- no unsettled delivery but RETRYING ones is below it
    next_due_at_ms bigint,                  -- the earliest RETRYING one that is not in memory
    PRIMARY KEY (environment, destination)
) WITH (fillfactor = 50);
CREATE INDEX destination_backlog_due ON destination_backlog (next_due_at_ms) WHERE next_due_at_ms IS NOT NULL;

-- What an actor must not forget over a restart: circuit, Retry-After, cursors. Written on change.
CREATE TABLE destination_snapshots (
    environment integer NOT NULL,
    destination uuid    NOT NULL,
    state       bytea   NOT NULL,           -- msgpack of engine.core's Snapshot
    taken_at_ms bigint  NOT NULL,
    PRIMARY KEY (environment, destination)
) WITH (fillfactor = 50);

-- Counters a minute, incremented by the statement that writes the rows that they count.
-- latency_NN counts attempts of at most 1.6^NN ms; the last one, all slower.
CREATE TABLE destination_minutes (
    environment   integer NOT NULL,
    destination   uuid    NOT NULL,
    minute        integer NOT NULL,         -- minutes since the epoch
    attempts      integer NOT NULL DEFAULT 0,
    failed        integer NOT NULL DEFAULT 0,
    retried       integer NOT NULL DEFAULT 0,
    delivered     integer NOT NULL DEFAULT 0,
    dead_lettered integer NOT NULL DEFAULT 0,
    error_01 integer NOT NULL DEFAULT 0, error_02 integer NOT NULL DEFAULT 0,
    error_03 integer NOT NULL DEFAULT 0, error_04 integer NOT NULL DEFAULT 0,
    error_05 integer NOT NULL DEFAULT 0, error_06 integer NOT NULL DEFAULT 0,
    error_07 integer NOT NULL DEFAULT 0, error_08 integer NOT NULL DEFAULT 0,
    error_09 integer NOT NULL DEFAULT 0, error_10 integer NOT NULL DEFAULT 0,
    error_11 integer NOT NULL DEFAULT 0, error_12 integer NOT NULL DEFAULT 0,
    error_13 integer NOT NULL DEFAULT 0,
    latency_00 integer NOT NULL DEFAULT 0, latency_01 integer NOT NULL DEFAULT 0,
    latency_02 integer NOT NULL DEFAULT 0, latency_03 integer NOT NULL DEFAULT 0,
    latency_04 integer NOT NULL DEFAULT 0, latency_05 integer NOT NULL DEFAULT 0,
    latency_06 integer NOT NULL DEFAULT 0, latency_07 integer NOT NULL DEFAULT 0,
    latency_08 integer NOT NULL DEFAULT 0, latency_09 integer NOT NULL DEFAULT 0,
    latency_10 integer NOT NULL DEFAULT 0, latency_11 integer NOT NULL DEFAULT 0,
    latency_12 integer NOT NULL DEFAULT 0, latency_13 integer NOT NULL DEFAULT 0,
    latency_14 integer NOT NULL DEFAULT 0, latency_15 integer NOT NULL DEFAULT 0,
    latency_16 integer NOT NULL DEFAULT 0, latency_17 integer NOT NULL DEFAULT 0,
    latency_18 integer NOT NULL DEFAULT 0, latency_19 integer NOT NULL DEFAULT 0,
    latency_20 integer NOT NULL DEFAULT 0, latency_21 integer NOT NULL DEFAULT 0,
    latency_22 integer NOT NULL DEFAULT 0, latency_23 integer NOT NULL DEFAULT 0,
    PRIMARY KEY (environment, destination, minute)
) WITH (fillfactor = 50);

CREATE TABLE customer_accounts (
    environment integer NOT NULL,
    external_id text    NOT NULL,
    id          uuid    NOT NULL,
    PRIMARY KEY (environment, external_id)
);
CREATE UNIQUE INDEX customer_accounts_by_id ON customer_accounts (environment, id);

-- Who may write. A process takes a new epoch at each start; every intake statement reads its process's
-- row FOR SHARE with its epoch, every settle statement its shards' leases, and writes nothing if one is gone.
CREATE TABLE processes (
    id         uuid PRIMARY KEY,
    epoch      bigint NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE shard_leases (
    shard   smallint PRIMARY KEY,
    process uuid   NOT NULL,
    epoch   bigint NOT NULL
);
