"""From eligible directories to a plan: requests, mapping, packing, prices, budgets.

Takes a project's status and mapper, gives a `Plan` in which every refused job has its reason.
Sending the plan is left to `core/submission`.
"""
