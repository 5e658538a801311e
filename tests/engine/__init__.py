"""Tests of the engine with fakes of the store. The tests of core, actors and wire are elsewhere."""
