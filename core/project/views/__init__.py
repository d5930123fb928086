"""Small values that screens show of a project: jobs, logs, needs and throughput.

Takes an open project, gives immutable values of bounded size, and notices of changes on disk.
Drawing them is left to `cli` and `tui`.
"""
