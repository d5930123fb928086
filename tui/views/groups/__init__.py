"""View 2: the groups of an action, and the directories of a group.

Takes pages of groups and directories, gives rows that can be filtered, sorted and marked, and
starts plans, packings and retries of the marked rows.
"""
