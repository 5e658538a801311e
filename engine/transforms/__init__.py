"""Transform scripts: tenants' JavaScript, run in processes that have nothing but their jobs."""
