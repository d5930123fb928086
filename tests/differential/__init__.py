"""Compares rowtui with the real Row on generated projects.

`python -m tests.differential --row PATH`

A development tool: nothing else needs it, and Row is not needed by any other test.
"""
