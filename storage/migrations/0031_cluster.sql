-- Several machines share the parts of a database. A node tells its machine, the part that it works for or stands
-- by for, and its load. The previous release's nodes are of one part, which is everything.
ALTER TABLE nodes
    ADD COLUMN machine         text,                            -- null: the previous release, by its name
    ADD COLUMN part            smallint NOT NULL DEFAULT 0,
    ADD COLUMN parts           smallint NOT NULL DEFAULT 1,
    ADD COLUMN accepted_per_s  real     NOT NULL DEFAULT 0,
    ADD COLUMN delivered_per_s real     NOT NULL DEFAULT 0,
    ADD COLUMN waiting         integer  NOT NULL DEFAULT 0;      -- deliveries in its memory

-- One row, once machines share the database: how many parts it has.
CREATE TABLE cluster (
    one   boolean  PRIMARY KEY DEFAULT true CHECK (one),
    parts smallint NOT NULL CHECK (parts BETWEEN 1 AND 256)
);

-- Machines that are not to work. It outlives their nodes: a restart does not end a drain.
CREATE TABLE drained_machines (
    machine text        PRIMARY KEY,
    since   timestamptz NOT NULL DEFAULT now()
);
