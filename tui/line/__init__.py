"""The line after `:`: parsing, completion, history and carrying out.

Takes typed text, gives a command of the registry with its argument, a change of a setting, or a
command of the command line. The commands themselves are left to `tui/commands`.
"""
