"""Packing: group the requests of one destination on as few and as cheap machines as possible."""
