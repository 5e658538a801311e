"""Tests that run the bench with tiny sizes, and its checks against logs with known faults."""
