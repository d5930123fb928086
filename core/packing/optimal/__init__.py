"""Proven packings and lower bounds of their cost; HiGHS is used where it is installed."""
