-- Files: of uploads, and those that come with events. Their bytes are elsewhere, by environment and hash.

CREATE TABLE files (
    environment  integer  NOT NULL,
    id           uuid     NOT NULL,
    event        uuid     NOT NULL,         -- that it belongs to, and is removed with
    size         bigint,
    position     smallint NOT NULL,         -- of an attachment among its event's
    state        smallint NOT NULL,
    purpose      smallint NOT NULL,
    source       smallint NOT NULL,
    sha256       bytea,
    content_type text,
    file_name    text,
    file_type    text,
    customer     text,
    source_url   bytea,                     -- encrypted: a signed one is a secret
    metadata     bytea,                     -- JSON as received
    error        text,
    due_ms       bigint,                    -- of a file that no delivery asks for: when to fetch it
    tries        smallint NOT NULL DEFAULT 0, -- of these: how often it was tried
    PRIMARY KEY (environment, id),
    CHECK ((size IS NULL) = (sha256 IS NULL)),
    CHECK (state <> 2 OR sha256 IS NOT NULL)
);
-- Retention asks for what is older than an event, whoever's it is.
CREATE INDEX files_by_event ON files (event);
CREATE INDEX files_by_content ON files (environment, sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX files_due ON files (due_ms) WHERE due_ms IS NOT NULL;
