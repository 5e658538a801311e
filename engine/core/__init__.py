"""Pure decisions: state, message and time in, commands out. Nothing here awaits or reads a clock."""
