"""Links between the servers of one database: who may open one, and what goes over it."""
