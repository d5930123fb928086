"""The driver of a run: rounds of ready jobs become plans.

Takes an open run, gives plans within its limits, and records every step in the run's journal. How
the jobs of a round run (alone, in lists, or in pilots) is left to execution plug-ins.
"""
