"""The bench, run tiny, so that it cannot rot; and its checks against logs with known faults."""
