"""A simulated run of a job graph on machines, and its chart.

Takes a job graph, run times, machines and an order of jobs, gives the times at which each job would
start and end. Finding the machines and run times is left to `core/runs/limits`.
"""
