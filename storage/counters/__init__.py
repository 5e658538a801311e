"""The counters of destinations by the minute and by the hour."""
