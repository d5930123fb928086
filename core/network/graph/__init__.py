"""The job graph of a network: its jobs, their states, and the order of ready jobs.

Takes samples and observed states, gives blocks of jobs that grow as lists become known, and the
ready jobs in the order of a scheduling plug-in. The package does no I/O.
"""
