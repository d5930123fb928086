"""Commands that start the dashboard, in the terminal or a browser, and shell completion."""
