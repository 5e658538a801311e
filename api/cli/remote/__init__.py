"""Commands over HTTP: each group mirrors a resource of the API, by the client library alone."""
