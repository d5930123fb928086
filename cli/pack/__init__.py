"""`rowtui pack`: how jobs would share nodes.

Takes a packing choice from options, gives the packed plan as text or a comparison of packers.
Packing is left to `core/packing`.
"""
