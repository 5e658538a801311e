-- The selected deliveries of a dry run by event type. The statement that counts a leg writes them.
CREATE TABLE replay_types (
    environment integer NOT NULL,
    job         uuid    NOT NULL,
    event_type  text    NOT NULL,
    total       bigint  NOT NULL,
    PRIMARY KEY (environment, job, event_type)
);
