"""The engine in a process of its own: how it is started, spoken to, lost and started again.

`start` is light and comes first; `client.ProcessEngine` is what screens see; `serve` runs there.
"""
