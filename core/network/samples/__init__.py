"""The flow of samples through a network's links, as columns.

Takes a `Network` and the rows of its sources, gives the samples of every node with their names.
Jobs and their dependencies are left to `core/network/graph`.
"""
