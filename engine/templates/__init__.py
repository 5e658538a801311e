"""Destination templates: each file describes a service's configuration, address, messages and answers.
No code here knows a service by name.
"""
