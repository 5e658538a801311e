"""The engine's machinery: clock, timers, reactor, tasks, fair queues. Nothing here depends on events."""
