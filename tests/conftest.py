"""Fixtures that every test may use."""

pytest_plugins = ["tests.rig.fixtures"]
