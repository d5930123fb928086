"""Messages to a user who is away: a run ended or paused, something failed first, a login is needed.

Takes events of a project, and the channels of the user's messages.toml. Gives messages by mail,
webhook, program, desktop or terminal, each noted in `.row/rowtui/messages/` before it is sent.
Finding the events is left to `core/project`, `core/runs` and the commands.
"""
