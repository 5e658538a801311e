"""The reports of measurements: tables for a terminal, and a self-contained page."""
