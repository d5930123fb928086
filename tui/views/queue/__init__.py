"""View 6: the jobs of all clusters.

Takes pages of the queue, gives rows of jobs, arrays and bundles, reasons in words, and verbs that
ask before they act. Polling is left to the engine.
"""
