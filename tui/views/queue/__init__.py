"""View 6: the jobs of all clusters."""
