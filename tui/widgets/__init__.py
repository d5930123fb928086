"""The widgets of the dashboard: one table, one text view, and the lines around them."""
