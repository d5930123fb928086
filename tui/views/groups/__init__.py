"""View 2: the groups of an action, and the directories of a group."""
