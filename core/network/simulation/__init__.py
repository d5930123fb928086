"""A simulated run of a job graph on machines, and its chart."""
