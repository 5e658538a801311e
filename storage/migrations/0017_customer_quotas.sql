-- What a workspace says of a customer's account: a name, and quotas. One row an account of which anything was
-- said, versioned like settings.
CREATE TABLE customer_settings (
    environment   integer NOT NULL,
    account       uuid    NOT NULL,
    version       integer NOT NULL,           -- counts from 1
    document      bytea   NOT NULL,           -- JSON
    updated_at_ms bigint  NOT NULL,
    PRIMARY KEY (environment, account)
);
CREATE UNIQUE INDEX customer_settings_by_account ON customer_settings (account);

-- Whatever an embed session adds raises the tally of its account in the same statement: what was counted at a
-- tally still holds when the row is added.
ALTER TABLE customer_accounts ADD COLUMN tally bigint NOT NULL DEFAULT 0;
