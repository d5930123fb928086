"""The project object for commands and screens. This package connects the others and decides
nothing.
"""
