"""Plans: the limits of a workspace, and the file that sets them."""
