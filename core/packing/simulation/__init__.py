"""CAVATICA's scheduling while jobs arrive: the online engine, and its simulation.

Takes events and a policy, gives actions such as starting a node or placing a job, without a clock.
The simulation feeds the engine with arrivals, boots and failures. Packing jobs that are all known
is left to `core/packing`.
"""
