"""What several `network` commands share: driving a run, its text and its JSON.

Takes an open run, gives lines, progress and the user's answers. Which commands exist is left to
`cli/network`.
"""
