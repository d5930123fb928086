"""`rowtui pack`: how jobs would share nodes.

Takes a packing choice from options, gives the packed plan as text, a comparison of packers, or a
simulation. Packing is left to `core/packing`.
"""
