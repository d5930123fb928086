"""The jobs of all clusters in one list, with filters, rows and problems.

Takes polls and the project's job records, gives bounded values for screens. When a cluster is
polled is left to `core/clusters/polling`.
"""
