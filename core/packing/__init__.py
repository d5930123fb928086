"""Packing: job requests that go to one place, put on as few, as cheap machines as possible."""
