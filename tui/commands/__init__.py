"""All commands of the dashboard, and the verbs that they start."""
