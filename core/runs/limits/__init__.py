"""What a run may use, has used, and will need: limits and estimates.

Takes a job graph, a plan and the journal of a run, gives the jobs that keep within the limits, a
question for the others, and forecasts. Submitting is left to `core/runs/execution`.
"""
