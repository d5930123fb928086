"""View 3: where a job would go, and why.

Takes a decision, gives the table of destinations, the reasons for one of them, and a form for a
what-if that can be written to workflow.toml.
"""
