"""Plans: what each allows a workspace, and the file that says so."""
