"""The registry of commands, a module for each view; `tui/actions.py` combines the modules."""
