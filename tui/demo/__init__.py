"""The controls of a demo or a recording."""
