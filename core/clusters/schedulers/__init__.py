"""Schedulers behind one protocol: bash (at once), local (embedded queue), Slurm, Grid Engine."""
