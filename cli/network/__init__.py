"""`rowtui network`: one module for each group of its commands.

Takes the options of a run, gives the state of a network as text or JSON, asks for limits, and
drives a run. The rounds of a run are left to `core/runs`.
"""
