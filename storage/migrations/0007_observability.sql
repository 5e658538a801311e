-- What observability reads.
SELECT 1;  -- nothing yet
