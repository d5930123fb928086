"""The store: immutable generations of a project's records, and their bytes."""
