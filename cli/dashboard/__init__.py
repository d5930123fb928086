"""Commands that start the dashboard, in the terminal or in a browser.

Takes the project of the folder and the abilities of the terminal, and starts `tui` with an engine.
Everything on the screen is left to `tui`.
"""
