"""Cluster and launcher configuration, partition selection, schedulers and queues."""
