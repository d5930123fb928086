"""Checks of a plan before its submission, each in a module of its own."""
