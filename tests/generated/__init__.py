"""Clients that generators make of the OpenAPI document: each compiles, and runs the tutorial."""
