"""The `none` cluster as a scheduler: bash runs each script at once, inside this process.

Takes job specifications, gives the exit code of each script when the script has ended. There is no
queue: order and dependencies are left to the plan.
"""
