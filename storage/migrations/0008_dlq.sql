-- What the dead-letter queue needs.
SELECT 1;  -- nothing yet
