"""The home view: all projects of the user, and the app that shows it without a project.

Takes the known projects of `core/home`, and gives the folder of the project that the user opens.
Opening the project is left to `cli/dashboard.py`, which starts another dashboard for it.
"""
