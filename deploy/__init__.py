"""The deployment: the wheel's build step, image, compose file, chart, and systemd unit."""
