"""From a job request to a decision: look up, combine, evaluate, match, rank, choose.

Takes a merged configuration and a request, gives a `Decision` with every reason. The package does
no I/O; files are left to `core/mapping/files`.
"""
