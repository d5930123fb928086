"""The registry of commands, a module for each view: `tui/actions.py` puts them together."""
