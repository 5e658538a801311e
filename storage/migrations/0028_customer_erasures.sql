-- Customers of whom somebody had the contents erased: the last request of each, and how far it is.
CREATE TABLE customer_erasures (
    environment     integer NOT NULL,
    account         uuid    NOT NULL,
    external_id     text    NOT NULL,
    requested_at_ms bigint  NOT NULL,
    below           uuid    NOT NULL,             -- events with ids below it are meant
    cursor          uuid    NOT NULL,             -- up to it everything was examined
    events          bigint  NOT NULL DEFAULT 0,   -- erased so far
    finished_at_ms  bigint,
    PRIMARY KEY (environment, account)
);
CREATE INDEX customer_erasures_unfinished ON customer_erasures (environment, account)
    WHERE finished_at_ms IS NULL;
