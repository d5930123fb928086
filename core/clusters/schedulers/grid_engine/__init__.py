"""Grid Engine as a scheduler: its commands, their output, and the reasons of its states.

Takes job specifications, gives the answers of the scheduler protocol from qsub, qstat, qacct, qdel,
qhold and qrls. The header of a script is left to `core/submission/scripts`.
"""
