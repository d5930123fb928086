"""Plans: jobs with destination, script, cost and dependencies, byte-stable as JSON.

Takes placed requests. Sending a plan is left to `core/submission/sending`.
"""
