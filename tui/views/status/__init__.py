"""View 1: all actions, the chosen one in detail, and what needs the user.

Takes the project's snapshot, gives the table of actions and a list of needs, each with its cause
and a next step that the view can carry out.
"""
