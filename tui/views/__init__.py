"""The views, each in a folder with its screen, its texts and its verbs; and shared pages."""
