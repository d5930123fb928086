"""The large demo: a synthetic project on simulated clusters, with the real engine.

Takes a number of directories, gives an engine whose clusters are simulated while everything else is
real. The small demos that run real jobs are left to `cli/demo`.
"""
