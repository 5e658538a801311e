-- Plans are data of the operator: their names, and what they allow, are checked where they are read.

ALTER TABLE workspaces DROP CONSTRAINT workspaces_plan_check;
ALTER TABLE workspaces ADD CHECK (plan <> '');

-- How many destinations an environment has that are not archived. Whoever adds one raises it in the same
-- statement, if there is room: the row is what keeps two from taking the last place.
ALTER TABLE environments ADD COLUMN destinations integer NOT NULL DEFAULT 0;
UPDATE environments e SET destinations =
    (SELECT count(*) FROM destinations d WHERE d.environment = e.number AND d.status <> 3);
