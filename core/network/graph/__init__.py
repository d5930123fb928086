"""The job graph of a network: its jobs, their states, and the order of ready jobs.

Takes samples, gives blocks of jobs that grow as lists become known. The package does no I/O.
"""
