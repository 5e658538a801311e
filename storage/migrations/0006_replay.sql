-- Replay jobs. Each row has one writer: the job's and its legs' is the intake connection with the chunk that it
-- enqueues (and the commands that create and cancel), the tally's is the settle statement.

CREATE TABLE replay_jobs (
    environment      integer  NOT NULL,
    id               uuid     NOT NULL,      -- the selection is as of this instant
    status           smallint NOT NULL DEFAULT 0,
    dry_run          boolean  NOT NULL,
    destination      uuid,
    customer_account uuid,                   -- that all its destinations are tied to, if one is
    customer         text,                   -- that account's external id
    event_types      text[],
    statuses         smallint[],
    delivery_ids     uuid[],
    from_ms          bigint,
    to_ms            bigint,
    rate_per_second  double precision,
    total            bigint   NOT NULL DEFAULT 0,
    enqueued         bigint   NOT NULL DEFAULT 0,
    skipped          bigint   NOT NULL DEFAULT 0,
    paced_until_ms   bigint   NOT NULL DEFAULT 0,   -- until then its rate is used up
    started_at_ms    bigint,
    finished_at_ms   bigint,
    error            text,
    PRIMARY KEY (environment, id)
) WITH (fillfactor = 50);
CREATE INDEX replay_jobs_unfinished ON replay_jobs (environment, id) WHERE status < 3;
CREATE INDEX replay_jobs_by_account ON replay_jobs (environment, customer_account, id)
    WHERE customer_account IS NOT NULL;

-- One destination's share of a job, with a cursor of its own, so that none holds up the others.
CREATE TABLE replay_legs (
    environment integer NOT NULL,
    job         uuid    NOT NULL,
    destination uuid    NOT NULL,
    counted     uuid    NOT NULL,            -- ids up to this one are in `total`
    total       bigint  NOT NULL DEFAULT 0,
    cursor      uuid    NOT NULL,            -- what is selected up to this id is enqueued or skipped
    enqueued    bigint  NOT NULL DEFAULT 0,
    skipped     bigint  NOT NULL DEFAULT 0,
    all_counted boolean NOT NULL DEFAULT false,
    exhausted   boolean NOT NULL DEFAULT false,
    step        bigint  NOT NULL DEFAULT 0,  -- how often it was moved: every write names the one it expects
    PRIMARY KEY (environment, job, destination)
) WITH (fillfactor = 50);

-- Lanes that a leg passed over, since their heads fail: what a lane has selected after its own cursor and up to
-- the leg's is still to be enqueued, and nothing of it after that before. Moved with the leg's `step`.
CREATE TABLE replay_parked (
    environment integer NOT NULL,
    job         uuid    NOT NULL,
    destination uuid    NOT NULL,
    lane        text    NOT NULL,
    cursor      uuid    NOT NULL,
    PRIMARY KEY (environment, job, destination, lane)
) WITH (fillfactor = 50);

-- What became of a job's deliveries, moved by the statement that settles them.
CREATE TABLE replay_tallies (
    environment integer NOT NULL,
    job         uuid    NOT NULL,
    delivered   bigint  NOT NULL DEFAULT 0,
    failed      bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (environment, job)
) WITH (fillfactor = 50);
