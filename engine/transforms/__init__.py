"""Transform scripts: tenants' JavaScript, run in processes that have nothing but what they are sent."""
