"""Tests of the clients that generators create from the OpenAPI document."""
