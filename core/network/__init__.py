"""The network: the flow of samples, the job graph, and scheduling priorities.

The package has no side effects.
"""
