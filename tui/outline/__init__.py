"""The screen as plain data, for people who use screen readers.

Takes a screen of the dashboard, gives its outline: headings, tables, texts and fields as they are
visible. `rowtui --plain` prints outlines, and the page of `rowtui serve` has one beside the
terminal. What a view shows is left to `tui/views`.
"""
