"""The Textual dashboard.

Takes an `Engine` and a terminal, gives the eight numbered views and the clusters' view, and starts
verbs when the user confirms. It reads a project only through the `Engine` protocol; all decisions
are left to `core`.
"""
