"""View 7: the log of a job.

Takes pages of a log, gives lines that are safe to show. Reading and counting the rows is left to
`core/project/views`.
"""
