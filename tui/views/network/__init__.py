"""View 8: a network and its run.

Takes the engine's view of a network, gives its picture or list, its samples, its failures and the
form for the limits of a run. Driving the run is left to the engine.
"""
