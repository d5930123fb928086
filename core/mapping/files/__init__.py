"""Mapping files: where they are, whether they are trusted, and their entities.

Takes paths and URLs, gives a merged configuration with a position for every problem. Evaluating the
entities is left to `core/mapping/engine`.
"""
