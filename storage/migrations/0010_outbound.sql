-- What a destination's deliveries carry: the script that is live there, and the template that it was made
-- from. Both are part of its version: publishing a script, like any change, makes another.

ALTER TABLE destinations
    ADD COLUMN transform uuid,                -- the script that is live
    ADD COLUMN transforms integer NOT NULL DEFAULT 0,  -- scripts that it ever had: the last one's version
    ADD COLUMN scripts integer NOT NULL DEFAULT 0,     -- scripts that it has, each counted in its workspace
    ADD COLUMN template text,                 -- of the catalog
    ADD COLUMN config bytea;                  -- JSON, with null for each secret, which `sealed` has

ALTER TABLE destination_versions
    ADD COLUMN transform_version integer,
    ADD COLUMN template text,
    ADD COLUMN config bytea;                  -- JSON, with null for each secret

-- Versions of scripts. None is ever changed: one that was published once can be published again. One that
-- is not live can be removed; its number is not given again.
CREATE TABLE transform_scripts (
    environment     integer NOT NULL,
    id              uuid    NOT NULL,
    destination     uuid    NOT NULL,
    version         integer NOT NULL,
    name            text    NOT NULL,
    source          bytea   NOT NULL,         -- UTF-8
    published_at_ms bigint,                   -- the last time; null for a draft
    PRIMARY KEY (environment, id),
    UNIQUE (environment, destination, version)
);
CREATE INDEX transform_scripts_by_destination ON transform_scripts (environment, destination, id);

-- How many scripts a workspace has, those of archived destinations left out. Whoever adds one raises it in
-- the same statement, if there is room.
ALTER TABLE workspaces ADD COLUMN transforms integer NOT NULL DEFAULT 0;
