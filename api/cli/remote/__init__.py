"""The commands over HTTP: one group for each resource of the API, through the client library only."""
