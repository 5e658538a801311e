"""Commands of the control plane: each writes one version of a row with its audit entry, and shows it."""
