"""Fast packers, and the steps that make a packing cheaper.

Takes vectors of resources and bins with prices, gives the filled bins. Proofs and lower bounds are
left to `core/packing/optimal`.
"""
