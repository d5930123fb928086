"""The user's clusters.toml and launchers.toml.

Takes files and the built-in descriptions, gives `Cluster` and launcher values with a position for
every problem, and writes them as text. Choosing a partition is left to `core/clusters`.
"""
