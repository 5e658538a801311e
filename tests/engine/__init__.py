"""The engine's parts other than core, actors and wire, tested with fakes of the store."""
