"""Completed and submitted records, column caches and Row's file formats: atomic, without locks.

The room takes Row's files and the generations that rowtui stored. It gives `State`, an immutable
snapshot of the names, values, completions, submissions and ends of jobs, and publishes edits of it
as new generations. Reading the workspace is left to `core/workspace`.
"""
