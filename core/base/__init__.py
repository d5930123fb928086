"""Errors, files, text, values and filters that all other packages use.

The room takes plain values and paths, and gives errors with a place and a hint, atomic writes, text
that is safe to show, Row's comparison of JSON values, the user's filters, and the types of all JSON
output. It imports no other room and knows nothing of projects or clusters.
"""
