"""The Python and the patterns of mapping files, and their limits.

Takes text, gives compiled code with the names that it reads, and runs it for a limited time. Which
entity the code belongs to is left to `core/mapping/engine`.
"""
