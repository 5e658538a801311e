"""What makes and judges clients: generators, linters and libraries, each pinned with its hash."""
