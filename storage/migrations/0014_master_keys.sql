-- Which master keys there are, by their ids: nothing here opens anything.

-- What a process has, the one that it seals and signs with first; and for how long what it signs is good.
ALTER TABLE processes
    ADD COLUMN master_keys bytea[],
    ADD COLUMN signed_for_s double precision;

-- The course of rotations. A key of before the first one is in no row until it is replaced.
CREATE TABLE master_keys (
    id          bytea PRIMARY KEY CHECK (length(id) = 8),
    added_at    timestamptz NOT NULL DEFAULT now(),
    first_at    timestamptz,  -- whatever runs seals and signs with it since
    resealed_at timestamptz,  -- everything is sealed with it since: its rotation has ended
    -- What was signed with it is good until then; null while it signs.
    needed_until timestamptz
);
