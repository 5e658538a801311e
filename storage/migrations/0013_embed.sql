-- What a workspace says of its customers' portal: how it looks, from which origins browsers come, and what
-- customers may do. One row a workspace, versioned; without one everything is as by default.
CREATE TABLE workspace_settings (
    workspace     uuid    PRIMARY KEY REFERENCES workspaces (id),
    version       integer NOT NULL,           -- counts from 1
    document      bytea   NOT NULL,           -- JSON, as callers see it
    updated_at_ms bigint  NOT NULL
);
