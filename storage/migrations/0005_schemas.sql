-- Event schemas and their versions.
SELECT 1;  -- nothing yet
