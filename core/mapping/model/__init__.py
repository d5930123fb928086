"""The values of the mapper: entities, tags, requests and decisions.

Takes plain values, gives immutable types with the operations that need no evaluation, and their
JSON. Evaluating entities is left to `core/mapping/engine`.
"""
