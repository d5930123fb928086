"""View 4: jobs on as few and as cheap nodes as possible.

Takes a packed plan, gives its bundles as rows, the lanes of one bundle over time, and choices whose
effect is shown before they are kept. Packing is left to the engine.
"""
