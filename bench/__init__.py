"""The bench: scenarios that measure the running service, and compare it with the floor of the machine.

Every run posts events to a real server and checks the deliveries that arrive. The floor is the CPU time
of a bare request and its answer, measured in the same minutes. The service's CPU time for a delivered and
recorded event is given as a multiple of the floor.
"""
