"""The asynchronous client: `made` is made of the API's routes, the rest is written by hand."""
