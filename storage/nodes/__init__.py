"""The rows of nodes and of the cluster."""
