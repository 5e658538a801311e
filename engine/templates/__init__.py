"""Destination templates: declarative files that say how a service is configured, addressed, written to
and understood. A template consists of its file alone; nothing here knows any service by name.
"""
