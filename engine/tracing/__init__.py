"""Traces: spans of sampled events, made by the OpenTelemetry SDK and exported by a thread of its own."""
