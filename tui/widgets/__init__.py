"""The widgets of the dashboard: one table, one text view, and the lines around them.

Takes spans, cells and lines as plain values, gives Textual widgets. The content is left to the
views.
"""
