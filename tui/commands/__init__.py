"""The registry of commands: a module for each view, combined by `registry.py`."""
