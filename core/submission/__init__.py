"""From a job request to a plan, a script, a journal entry and a submission, exactly once.

The room takes placed job requests and the access to their clusters. It gives immutable plans, job
scripts, a journal of every step, and the outcome of each job. Which requests are planned, and the
user's confirmation, are left to `core/project` and to the commands.
"""
