"""Words that complete a command's arguments. Each module is loaded only for its own arguments.

Takes the words typed so far, gives candidates from the project, the clusters or the network. Which
argument has which completer is left to `cli/complete.py`.
"""
