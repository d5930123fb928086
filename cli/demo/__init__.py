"""The demo project: how much of a lattice must be filled before a path crosses it."""
