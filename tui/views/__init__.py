"""The views, each in a folder with its screen, its texts and its verbs; and shared pages.

Takes the session, gives rows and lines by pure functions, and widgets that draw them. Long lists
are requested from the engine by the page.
"""
