"""The app, its session and feed, its keys, themes and terminal.

`Session` holds the engine's last answers and the user's choices, `Feed` keeps them up to date, and
the app passes keys to commands. What each view draws is left to `tui/views`.
"""
