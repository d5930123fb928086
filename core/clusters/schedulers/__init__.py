"""Schedulers behind one protocol: bash (run at once), local (embedded queue), Slurm."""
