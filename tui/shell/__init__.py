"""The app, its session and feed, its keys, themes and terminal."""
