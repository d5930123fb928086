"""Proven packings and lower bounds of their cost; HiGHS is used where it is installed.

Takes the same vectors and bins as the heuristics, gives bounds that do not depend on a solver, and
optimal packings of few items or few classes.
"""
