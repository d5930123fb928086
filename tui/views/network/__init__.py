"""View 8: a network and its run."""
