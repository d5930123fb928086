"""The command line: a folder for each noun; never imports Textual."""
