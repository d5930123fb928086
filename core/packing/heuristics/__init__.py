"""Fast packers, and the steps that make a packing cheaper."""
