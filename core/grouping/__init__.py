"""Which directories an action takes, in which order and in which groups, and what they cost."""
