"""The driver of a run: rounds of ready jobs become plans.

Takes an open run, gives plans within its limits, and records every step in the run's journal.
"""
