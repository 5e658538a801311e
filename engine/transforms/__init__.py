"""Transform scripts: tenants' JavaScript, run in confined worker processes."""
