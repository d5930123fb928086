"""The jobs of all clusters in one list, with filters, rows and problems.

Takes polls, gives bounded values for screens.
"""
