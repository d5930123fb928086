"""Ways to reach a cluster over SSH. asyncssh is imported when the first connection is opened.

Takes the user's SSH configuration and the answers to questions of a login, gives connections that
run commands and report whether a command certainly ran, certainly did not run, or has an unknown
outcome. The meaning of the commands is left to the schedulers; host keys are always verified.
"""
