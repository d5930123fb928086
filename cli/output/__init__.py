"""Output of all commands: results, tables, progress bars, and watching.

Takes values and styles, gives lines on stdout for results and on stderr for messages, with colours
only where the terminal and the user want them. The content is left to each command.
"""
