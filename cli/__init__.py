"""The command line: a folder for each noun; never imports Textual.

Takes the words that the user typed, opens the project, calls `core`, and gives text or JSON on
stdout, messages on stderr, and an exit code. All decisions are left to `core`.
"""
