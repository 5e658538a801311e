"""Agents, which reach the service by the Model Context Protocol."""
