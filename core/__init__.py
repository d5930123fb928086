"""All logic and actions of rowtui, without Textual and without printing (docs/architecture.md).

The rooms of `core` take a project's folder, the user's configuration and the answers of clusters,
and give values: states, groups, plans, queues and the progress of submissions. Showing these values
is left to the command line (`cli`) and the dashboard (`tui`), which `core` never imports.
"""

__version__ = "0.1.0"
