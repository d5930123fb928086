"""Real servers for tests, in private folders, on loopback only, gone when their owner is.

`python -m tests.rig` brings a Slurm cluster up by hand; `fixtures.py` has the pytest fixtures.
"""
