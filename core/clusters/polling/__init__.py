"""Polls of the queues, shared by all processes of a user.

Takes a scheduler, gives its last known queue, and decides when a controller may be asked again.
Parsing the answers is left to `core/clusters/schedulers`.
"""
