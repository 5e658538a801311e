"""Several servers on one database: their liveness, and the placement of leases. Pure decisions only."""
