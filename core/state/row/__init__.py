"""Row's own files in both directions, and completions that jobs have staged."""
