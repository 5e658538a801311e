"""The client libraries, held to the same behaviour: one book of cases, and a driver for each language."""
