"""What jobs used, and when they ran: the commands `usage`, `history` and `report`.

Takes job ids, actions and groupings, and gives tables, recommendations, JSON or CSV. Measuring and
storing usage is left to `core/submission` and `core/usage`.
"""
