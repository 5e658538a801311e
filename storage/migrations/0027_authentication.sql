-- How requests to a destination are sent and prove their sender; `authentication` is JSON, sealed as a
-- whole. `disable_after_s`: seconds of failing after which the destination is disabled.
ALTER TABLE destinations
    ADD COLUMN method smallint NOT NULL DEFAULT 1,
    ADD COLUMN authentication bytea,
    ADD COLUMN disable_after_s integer;
ALTER TABLE destination_versions
    ADD COLUMN method smallint NOT NULL DEFAULT 1,
    ADD COLUMN authorizes boolean NOT NULL DEFAULT false;
-- Attempts that failed for AUTHENTICATION.
ALTER TABLE destination_minutes ADD COLUMN error_14 integer NOT NULL DEFAULT 0;
ALTER TABLE destination_hours ADD COLUMN error_14 integer NOT NULL DEFAULT 0;
