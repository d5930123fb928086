"""The one table of the dashboard, as fast with a million rows as with ten.

Takes a source of rows in memory or by the page, gives scrolling, marking, filtering, sorting and a
choice of columns. It draws only the visible rows, and a row only when it looks different.
"""
