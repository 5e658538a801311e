-- The last versions that enabled a destination and that changed its URL; 0: none since this migration. They end
-- what holds back its deliveries, also while it has no actor.
ALTER TABLE destinations
    ADD COLUMN enabled_version integer NOT NULL DEFAULT 0,
    ADD COLUMN moved_version   integer NOT NULL DEFAULT 0;
