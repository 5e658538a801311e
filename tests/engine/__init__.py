"""The engine's parts that are neither core, actors nor wire, with real fakes for the store."""
