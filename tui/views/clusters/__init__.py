"""The clusters: connections, logins and load.

Takes the engine's answers about the clusters, gives one row for each cluster, the details of one,
and the dialogs of a login. This view has no number.
"""
