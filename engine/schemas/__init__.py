"""Event schemas. A schema whose checks could take too long is refused when it is created."""
