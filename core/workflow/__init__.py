"""workflow.toml -> Workflow: parse, inherit, validate, with a position for every problem."""
