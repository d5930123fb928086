"""Network runs of a project: read sources, make directories, observe states and submit jobs.

The room takes a project with a network.toml and the limits that the user confirmed. It gives
directories with their inputs, a run's snapshot and journal, and rounds of plans within the limits.
The job graph is left to `core/network`, and planning and sending to `core/project`.
"""
