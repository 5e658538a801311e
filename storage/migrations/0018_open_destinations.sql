-- each statement alone
-- An account's destinations that are not archived, to be counted: who archives without end makes many others.
DROP INDEX CONCURRENTLY IF EXISTS destinations_open_by_account;
CREATE INDEX CONCURRENTLY destinations_open_by_account ON destinations (environment, customer_account, id)
    WHERE customer_account IS NOT NULL AND status <> 3;
