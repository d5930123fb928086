"""The projects that a user has opened, with a summary of each.

Takes the user's state folder and the folders of projects. Gives the known projects, their stored
summaries with the age, and new summaries, each read by another process with a deadline, so that a
broken project or a file system that hangs delays no other project. Nothing is written to a project.
Opening a project is left to the commands and the dashboard.
"""
