"""What jobs used: the command `usage`.

Takes job ids, actions and groupings, and gives tables, recommendations, JSON or CSV. Measuring and
storing usage is left to `core/submission` and `core/usage`.
"""
