-- What credentials need beside their secrets.
SELECT 1;  -- nothing yet
