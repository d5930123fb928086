"""Where a project runs: clusters, connections, credentials, copies and pilots.

Takes the user's configuration, gives open connections, and the place of the project on each
cluster. Planning is left to `core/project/planning`.
"""
