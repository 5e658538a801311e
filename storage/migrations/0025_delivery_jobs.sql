-- Jobs that cancel or retry what waits (kind 1 and 2), and replays of events without a delivery (mode 1). All of
-- them have no `statuses`: a version that knows replays alone finds nothing for them to do.
ALTER TABLE replay_jobs
    ADD COLUMN kind          smallint NOT NULL DEFAULT 0,
    ADD COLUMN mode          smallint NOT NULL DEFAULT 0,
    ADD COLUMN waiting       smallint[],              -- of kind 1 and 2: the statuses that are meant
    ADD COLUMN only_customer text,                    -- an external id
    ADD COLUMN most          bigint;
-- Deliveries that were named to the destination's actor, and are not known to have ended.
ALTER TABLE replay_legs ADD COLUMN ordered uuid[] NOT NULL DEFAULT '{}';
