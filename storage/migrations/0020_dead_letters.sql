-- The dead-letter queue in the order of death, which lists, groups and their instants ask for. Only what is
-- dead is in these indexes: a delivery that goes well pays for the look at its `trouble`.
CREATE INDEX deliveries_dead ON deliveries (environment, dead_lettered_at_ms, id) WHERE trouble = 3;
CREATE INDEX deliveries_dead_by_destination ON deliveries (environment, destination, dead_lettered_at_ms, id)
    WHERE trouble = 3;
