"""Submission exactly once: reserve, journal, send, record, release.

Takes a confirmed plan, gives the outcome of each job. What happened to jobs of an interrupted
submission is left to `core/submission/reconcile`.
"""
