"""The command on all projects of the user: `projects`.

Takes the known projects of `core/home`, gives a table or JSON, and adds or removes projects. The
home view of the dashboard shows the same list.
"""
