"""The bench: scenarios that measure the running service against the floor of the same machine.

Every run posts to a real server and checks the arrived deliveries. CPU per delivered and recorded event
is a ratio to the floor measured in the same minutes.
"""
