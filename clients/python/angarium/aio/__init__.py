"""The asynchronous client: `made` is generated from the API's routes, the rest is written by hand."""
