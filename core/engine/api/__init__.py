"""The values that an engine gives to screens.

Takes the project's values, gives the snapshot and the pages of groups and directories. Computing
them is left to `core/engine/local`.
"""
