"""The dashboard's speed, in a terminal of its own: `python -m bench.tui`."""
