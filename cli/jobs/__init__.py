"""Commands on jobs: queue, logs, cancel, hold, release, retry.

Takes job ids or actions, gives tables of jobs, logs as text, and the answer of the scheduler for
each job. Combining queues with the project's records is left to `core/project`.
"""
