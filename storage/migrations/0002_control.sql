-- Configuration: who may call, where events go, and who changed it. Small tables, written one row at a time
-- by commands; each row that a process holds in memory has a version, so that a writer who read an older one
-- changes nothing. Ids are UUIDv7: the time of creation is in them.

CREATE TABLE workspaces (
    id      uuid    PRIMARY KEY,
    name    text    NOT NULL UNIQUE,
    plan    text    NOT NULL CHECK (plan IN ('free', 'pro', 'scale')),
    version integer NOT NULL DEFAULT 1
);

-- Three for each workspace. The number is what the delivery log's keys begin with, and is never used again.
CREATE TABLE environments (
    number    integer  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace uuid     NOT NULL REFERENCES workspaces (id),
    name      smallint NOT NULL CHECK (name BETWEEN 1 AND 3),
    UNIQUE (workspace, name)
);

CREATE TABLE api_keys (
    id            uuid     PRIMARY KEY,
    workspace     uuid     NOT NULL REFERENCES workspaces (id),
    environment   integer  REFERENCES environments (number),  -- null for an MCP key
    kind          smallint NOT NULL,
    name          text     NOT NULL,
    scope         smallint NOT NULL,
    revoked_at_ms bigint,
    version       integer  NOT NULL DEFAULT 1,
    CHECK ((kind = 1) = (environment IS NOT NULL))
);
CREATE INDEX api_keys_by_workspace ON api_keys (workspace, id);

-- A key has one secret, and during the 24 hours after a rotation the previous ones too. Of a secret only its
-- SHA-256 is kept, and what people recognise it by. A revoked key has no row here.
CREATE TABLE key_secrets (
    digest        bytea  PRIMARY KEY,
    key           uuid   NOT NULL REFERENCES api_keys (id),
    prefix        text   NOT NULL,
    last_four     text   NOT NULL,
    fingerprint   text   NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint
);
CREATE INDEX key_secrets_by_key ON key_secrets (key);

CREATE TABLE destinations (
    environment      integer  NOT NULL,
    id               uuid     NOT NULL,
    version          integer  NOT NULL,
    status           smallint NOT NULL,
    name             text     NOT NULL,
    description      text,
    url              text     NOT NULL,
    customer         text,                    -- customerExternalId that it is tied to
    customer_account uuid,
    concurrency      smallint NOT NULL,
    ordering         smallint NOT NULL,
    timeout_ms       integer  NOT NULL,
    rate_per_second  double precision,
    dry_run          boolean  NOT NULL,
    retry_schedule_s integer[] NOT NULL,
    algorithm        smallint NOT NULL,
    headers          bytea    NOT NULL,       -- JSON [[name, value]]; the value of a masked one is null
    sealed           bytea    NOT NULL,       -- encrypted: values of masked headers, signing keys
    updated_at_ms    bigint   NOT NULL,
    PRIMARY KEY (environment, id)
);
CREATE UNIQUE INDEX destinations_by_id ON destinations (id);
CREATE INDEX destinations_by_account ON destinations (environment, customer_account, id)
    WHERE customer_account IS NOT NULL;

-- Every version that there was, so that a request can be shown as it was sent. Append-only, without secrets.
CREATE TABLE destination_versions (
    environment   integer  NOT NULL,
    destination   uuid     NOT NULL,
    version       integer  NOT NULL,
    status        smallint NOT NULL,
    url           text     NOT NULL,
    headers       bytea    NOT NULL,
    algorithm     smallint NOT NULL,
    written_at_ms bigint   NOT NULL,
    PRIMARY KEY (environment, destination, version)
);

CREATE TABLE routing_rules (
    environment   integer  NOT NULL,
    id            uuid     NOT NULL,
    version       integer  NOT NULL,
    destination   uuid     NOT NULL,
    name          text     NOT NULL,
    event_types   text[]   NOT NULL,
    priority      smallint NOT NULL,
    enabled       boolean  NOT NULL,
    updated_at_ms bigint   NOT NULL,
    PRIMARY KEY (environment, id)
);
CREATE UNIQUE INDEX routing_rules_by_id ON routing_rules (id);
CREATE INDEX routing_rules_by_destination ON routing_rules (environment, destination, id);

-- One row for each change of configuration, written in the transaction that made it. Never a secret.
CREATE TABLE audit_log (
    workspace   uuid     NOT NULL,
    id          uuid     NOT NULL,
    environment integer,                      -- null for what belongs to the whole workspace
    action      text     NOT NULL,
    object_type text     NOT NULL,
    object_id   text     NOT NULL,
    actor_type  text     NOT NULL,
    actor_id    text     NOT NULL,
    request_id  text,
    changes     bytea,                        -- JSON {field: {"from", "to"}}
    previous_fingerprint text,
    PRIMARY KEY (workspace, id)
);
