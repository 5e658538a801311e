"""The files of events: their rows, their bytes, and the spool that receives them."""
