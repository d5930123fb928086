"""Plans: jobs with destination, script, cost and dependencies, byte-stable as JSON.

Takes placed requests, gives a `Plan` with the refused work and its reasons. Sending a plan is left
to `core/submission/sending`.
"""
