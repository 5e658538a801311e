-- Customers are listed by name, and found by a prefix: in the order of bytes, whatever the database's own is.
CREATE INDEX customer_accounts_by_name ON customer_accounts (environment, external_id COLLATE "C");
