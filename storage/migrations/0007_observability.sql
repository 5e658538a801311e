-- What the audit log is read by. It is written by people, a row a change: indexes cost little here.

CREATE INDEX audit_log_by_environment ON audit_log (environment, id) WHERE environment IS NOT NULL;
CREATE INDEX audit_log_by_action ON audit_log (environment, action, id) WHERE environment IS NOT NULL;
CREATE INDEX audit_log_by_object_type ON audit_log (environment, object_type, id) WHERE environment IS NOT NULL;
CREATE INDEX audit_log_by_object ON audit_log (environment, object_id, id) WHERE environment IS NOT NULL;
CREATE INDEX audit_log_by_actor ON audit_log (environment, actor_id, id) WHERE environment IS NOT NULL;
CREATE INDEX audit_log_of_workspace ON audit_log (workspace, id) WHERE environment IS NULL;

-- The same counters by the hour, so that a month is 720 rows and not 43,200. Made of the minutes when somebody
-- reads a long period; hours below `through` are complete. A settle statement that counts into a minute of more
-- than an hour ago lowers `through` to that hour (`reopened`): the minutes are asked again from there on.
CREATE TABLE destination_hours (LIKE destination_minutes INCLUDING DEFAULTS);
ALTER TABLE destination_hours RENAME COLUMN minute TO hour;
ALTER TABLE destination_hours ADD PRIMARY KEY (environment, destination, hour);
CREATE TABLE destination_rolled (
    environment integer NOT NULL,
    destination uuid    NOT NULL,
    through     integer NOT NULL,          -- in hours since the epoch; 0 while nothing is rolled up
    reopened    integer,                   -- the hour that was last counted into late
    PRIMARY KEY (environment, destination)
);
