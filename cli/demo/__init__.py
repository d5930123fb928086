"""The demo projects: a study of percolation, with or without a network, and a large project.

Takes a folder, gives a project in it whose jobs run on this machine's queue, and opens the
dashboard on it. The simulated clusters of the large demo are left to `core/demo`.
"""
