"""`rowtui plan` and `rowtui submit`: what would be sent, and sending it.

Takes actions and directories, gives the plan, asks, and prints the progress of the submission.
Planning is left to `core/project/planning`, and sending to `core/submission`.
"""
