"""The files of events: their rows, their contents, and the spool."""
