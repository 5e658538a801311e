"""Tests of what is installed: wheels, images, units and charts."""
