"""Schedulers behind one protocol: bash (run now), local (embedded queue), slurm."""
