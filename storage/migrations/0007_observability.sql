-- What the audit log is read by. It is written by people, a row a change: indexes cost little here.

CREATE INDEX audit_log_by_environment ON audit_log (environment, id) WHERE environment IS NOT NULL;
CREATE INDEX audit_log_by_action ON audit_log (environment, action, id) WHERE environment IS NOT NULL;
CREATE INDEX audit_log_by_object_type ON audit_log (environment, object_type, id) WHERE environment IS NOT NULL;
CREATE INDEX audit_log_by_object ON audit_log (environment, object_id, id) WHERE environment IS NOT NULL;
CREATE INDEX audit_log_by_actor ON audit_log (environment, actor_id, id) WHERE environment IS NOT NULL;
CREATE INDEX audit_log_of_workspace ON audit_log (workspace, id) WHERE environment IS NULL;
