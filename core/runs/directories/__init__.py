"""The directories of a network's samples, their inputs, and their published products.

Takes a job graph, and makes, removes and reads files in the workspace. Which jobs are ready is left
to `core/network/graph`.
"""
