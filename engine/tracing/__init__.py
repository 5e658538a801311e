"""Traces: spans of sampled events, which a thread exports to a collector by OTLP."""
