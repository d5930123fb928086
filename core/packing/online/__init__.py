"""CAVATICA's scheduling while jobs arrive: the online engine.

Takes events and a policy, gives actions such as starting a node or placing a job, without a clock.
Packing jobs that are all known is left to `core/packing`.
"""
