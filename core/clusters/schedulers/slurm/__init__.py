"""Slurm as a scheduler: its commands, their output, its reasons, nodes and accounting.

Modules that parse output are pure; `scheduler`, `nodes`, `load`, `detail` and `describe` run
commands through a transport. Takes job specifications, gives the answers of the scheduler protocol,
and descriptions of partitions, nodes and accounts. The header of a script is left to
`core/submission/scripts`.
"""
