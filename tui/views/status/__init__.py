"""View 1: all actions, the chosen one in detail, and what needs the user."""
