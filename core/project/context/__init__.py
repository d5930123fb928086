"""Where a project runs: clusters, connections, credentials, copies and pilots.

Takes the user's configuration, gives open connections. Planning is left to
`core/project/planning`.
"""
