"""View 5: a plan before and during its submission.

Takes a plan and its checks, gives the jobs, the scripts with their differences, the costs, and the
question that must be answered before anything is sent. Sending is left to the engine.
"""
