"""The command line: one module per command; never imports Textual."""
