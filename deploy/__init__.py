"""The deployment: the wheel, the image, the compose file, the chart, the systemd unit, and the site."""
