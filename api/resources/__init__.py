"""One module per resource of the control plane."""
