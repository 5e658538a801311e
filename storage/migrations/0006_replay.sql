-- Replay jobs.
SELECT 1;  -- nothing yet
