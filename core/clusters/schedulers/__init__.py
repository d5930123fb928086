"""Schedulers behind one protocol, found by name as plug-ins.

The folder takes job specifications and a transport, and gives typed answers: accepted, rejected or
unknown, queues as snapshots, and reasons with a sentence and a hint. The conclusions from an answer
are left to `core/submission`, and the pace of the questions to `core/clusters/polling`.
"""
