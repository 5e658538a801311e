-- Plans are data.
SELECT 1;  -- nothing yet
