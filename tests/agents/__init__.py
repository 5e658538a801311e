"""Agents, which use the service through the Model Context Protocol."""
