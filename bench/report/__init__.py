"""Reports of what was measured: tables for a terminal, and a page that stands alone."""
