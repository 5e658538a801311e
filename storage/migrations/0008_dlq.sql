-- What lists need that are asked for what is rare. A NORMAL delivery is in no further index by this: of a
-- million of them, finding the one replay takes one page instead of five hundred.
CREATE INDEX deliveries_by_origin ON deliveries (environment, origin, id) WHERE origin <> 1;
