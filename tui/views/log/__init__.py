"""View 7: the log of a job."""
