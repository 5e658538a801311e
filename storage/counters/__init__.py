"""The counters of destinations by minutes and hours: written, summed, read and removed."""
