"""Commands of the control plane: each writes a change and its audit entry, then updates read models."""
