"""Messages to the user: the command `notify`.

Takes the name of a channel, and gives the list of channels, the outcome of a test, or an example
file. Sending messages is left to `core/messages`.
"""
