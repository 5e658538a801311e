-- When a key was last used: written at most once a minute for each key, for all in one statement. No index
-- names it and the rows leave room, so that those updates stay within their page.
ALTER TABLE api_keys ADD COLUMN last_used_at_ms bigint;
ALTER TABLE api_keys SET (fillfactor = 50);
