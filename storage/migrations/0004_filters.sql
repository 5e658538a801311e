-- Filters of routing rules: CEL source, what came of evaluating it, and what bounds their number.

ALTER TABLE routing_rules ADD COLUMN filter text;

-- One row for each environment with rules. Every write of a rule takes it first, so that what was read at
-- `version` (how many rules there are, which of them have filters) still holds when the rule is written.
CREATE TABLE routing_tallies (
    environment integer PRIMARY KEY,
    rules       integer NOT NULL,
    version     bigint  NOT NULL DEFAULT 1
);
INSERT INTO routing_tallies (environment, rules) SELECT environment, count(*) FROM routing_rules GROUP BY 1;

-- Evaluations that gave neither true nor false, since the filter was written.
CREATE TABLE filter_failures (
    environment  integer NOT NULL,
    rule         uuid    NOT NULL,
    failures     bigint  NOT NULL,
    last_at_ms   bigint  NOT NULL,
    last_message text    NOT NULL,
    PRIMARY KEY (environment, rule)
);
