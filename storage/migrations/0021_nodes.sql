-- What each server says of itself, and how often it has said so: `beat`, its heartbeat. It goes with the row
-- by which the server may write. Apart from that row, which every intake statement locks.
CREATE TABLE nodes (
    id         uuid PRIMARY KEY REFERENCES processes (id) ON DELETE CASCADE,
    name       text NOT NULL,
    version    text NOT NULL,
    address    text,                        -- where other servers reach it
    started_at timestamptz NOT NULL DEFAULT now(),
    beat       bigint NOT NULL DEFAULT 0,
    beat_at    timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Which home slots (environments by their number modulo 256) a row of `processes` covers. Whoever takes one
-- from a process raises that process's epoch.
CREATE TABLE home_leases (
    slot    smallint PRIMARY KEY,
    process uuid   NOT NULL,
    epoch   bigint NOT NULL
);
