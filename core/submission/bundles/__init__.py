"""Scripts that run many requests in one scheduler job: bundles and pilots.

Takes planned jobs and their bundle, gives the script of the scheduler job, in which each request
keeps its own script, token, fence and end. Choosing the bundles is left to `core/packing`.
"""
