"""How the server gets to other machines: the wheel's build step, image, compose file, chart, unit."""
