"""Cluster and launcher configuration, partition selection, schedulers and queues.

The room takes clusters.toml, launchers.toml and the environment. It gives the recognised cluster
with the reason, a partition for a job with a reason for each refused partition, schedulers and
transports behind protocols, and polled queues. What the jobs mean for a project is left to
`core/submission` and `core/project`.
"""
