"""Small values that screens show of a project: jobs, logs, needs and throughput."""
