"""The objects of `rowtui.core.base.json` made from the values of a project.

Takes jobs, plans, queues, groups and packings; gives dicts for `json.dumps`. Each object is made by
one function, whatever command prints it.
"""
