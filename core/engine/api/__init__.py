"""The interface between screens and a project, and its values as JSON.

Takes the project's values, gives the types of all answers, and the objects that `--json` prints.
Computing the answers is left to `core/engine/local`.
"""
