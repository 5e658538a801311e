"""Links between the servers of one database: their handshake, their acceptor, and what they carry."""
