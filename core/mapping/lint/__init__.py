"""Checks of mapping files that run none of their code.

Takes a merged configuration and the clusters, gives findings, each with a code, a position and a
hint. Errors that prevent loading are left to `core/mapping/files`.
"""
