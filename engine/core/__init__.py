"""The decisions about deliveries, as pure functions and objects. The caller passes messages and the time,
and gets commands. No code here awaits or reads a clock."""
