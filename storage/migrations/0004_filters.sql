-- Filters of routing rules.
SELECT 1;  -- nothing yet
