-- Event schemas and their versions. A type's row says which version is active, so that there is never more
-- than one, and which number was given last, so that they have no gaps: whoever adds one holds that row.

CREATE TABLE event_schema_types (
    environment  integer NOT NULL,
    event_type   text    NOT NULL,
    last_version integer NOT NULL,
    active       uuid,                        -- null while events of the type are held to nothing
    PRIMARY KEY (environment, event_type)
);

-- Append-only, but for the time of the last activation: one that was never activated is a draft.
CREATE TABLE event_schemas (
    environment     integer NOT NULL,
    id              uuid    NOT NULL,
    event_type      text    NOT NULL,
    version         integer NOT NULL,
    weight          integer NOT NULL,         -- what it costs at most, judged when it was made
    document        bytea   NOT NULL,         -- JSON
    description     text,
    example         bytea,                    -- JSON
    activated_at_ms bigint,
    PRIMARY KEY (environment, id),
    UNIQUE (environment, event_type, version)
);
CREATE UNIQUE INDEX event_schemas_by_id ON event_schemas (id);
CREATE INDEX event_schemas_by_type ON event_schemas (environment, event_type, id);
