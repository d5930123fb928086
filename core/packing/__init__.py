"""Packing: group the requests of one destination on as few and as cheap machines as possible.

The room takes node types and classes of identical requests. It gives bundles with their cost, a
lower bound of the cost of any packing, and the requests that fit nowhere with the reason. The
functions are pure; turning planned jobs into requests is left to `core/project/planning`, and the
scripts of bundles to `core/submission/bundles`.
"""
