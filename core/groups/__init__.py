"""Grouping: the directories of an action, their order, their groups and their cost."""
