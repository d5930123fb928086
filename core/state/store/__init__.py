"""The store: immutable generations of a project's records, and their bytes.

Takes an edit of the records, gives the published generation, after merging with generations that
other processes published before. What an edit changes is left to the caller.
"""
