"""The outcome of jobs that were sent: ended, lost, or unknown.

Takes journals, queues and the files of job scripts, gives records and journal entries. Polling the
queues is left to `core/clusters/polling`.
"""
