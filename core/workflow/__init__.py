"""workflow.toml -> Workflow: parse, inherit, validate, with a position for every problem.

The room takes the text of workflow.toml and gives an immutable `Workflow` whose actions have all
inherited settings, or all problems at once, each with file, line and column. It also edits single
settings in the text. Directories, clusters and costs are left to other rooms.
"""
