"""Commands on a project as a whole: init, scan, clean, mirror; and opening a project.

Takes common options such as the cluster and the chosen directories, gives an open `Project` to all
other commands, with its notices printed.
"""
