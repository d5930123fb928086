"""Compares rowtui's mapper with the real TPV on generated mapping files.

`python -m tests.differential_mapping --tpv PYTHON`

A development tool: nothing else needs it, and TPV is not needed by any other test.
"""
