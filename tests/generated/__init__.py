"""Clients that generators create from the OpenAPI document: each compiles and runs the tutorial."""
