"""Compares our flow of samples with the real Fastr's, on generated networks.

`python -m tests.differential_network --fastr PYTHON`

A development tool: nothing else needs it, and Fastr is not needed by any other test.
"""
