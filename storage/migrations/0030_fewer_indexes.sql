-- A partial index costs each statement that writes deliveries some microseconds, also where no row is in it. Rare
-- origins and priorities are in the summaries of `deliveries_found`.
DROP INDEX IF EXISTS deliveries_urgent;
DROP INDEX IF EXISTS deliveries_by_origin;
