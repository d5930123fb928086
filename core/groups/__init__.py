"""Grouping: the directories of an action, their order, their groups and their cost.

The room takes a `Workflow` and a `State`. It gives a `StatusTable`, ordered groups, and job
requests with their total resources. The functions are pure; the place where a request runs is left
to `core/mapping` and `core/submission`.
"""
