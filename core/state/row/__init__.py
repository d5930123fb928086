"""Row's own files in both directions, and completions that jobs have staged.

Takes and writes the exact bytes of Row's `completed.postcard`, `submitted.postcard` and
`directories.json`, and reads staged completion files. Deciding when to import or export them is
left to `core/workspace` and `core/state/store`.
"""
