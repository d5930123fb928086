"""Directories and values on disk: discovery, reading, scanning for products, watching.

The room takes the workspace folder and the last records, and gives listings, parsed values, product
scans and notices of changes; `synchronise` combines all of them into new records. The status of a
directory for an action is left to `core/groups`.
"""
