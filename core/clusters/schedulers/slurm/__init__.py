"""Slurm as a scheduler: its commands, their output, its reasons, nodes and accounting.

Modules that parse output are pure; `scheduler`, `nodes`, `load`, `detail`, `allocations` and
`describe` run commands through a transport.
"""
