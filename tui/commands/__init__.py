"""All commands of the dashboard, and the verbs that they start.

Each command is a value with an id, keys, a label and a reason that says when it cannot be used. The
footer, the help, the palette and the `:` line read the same registry. What a command shows is left
to the views.
"""
