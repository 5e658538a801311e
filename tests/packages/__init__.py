"""Tests of installed packages: wheels, images, units and charts."""
