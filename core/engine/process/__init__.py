"""The engine in a process of its own: start, communication, loss and restart.

`start` is light and runs first; screens use `client.ProcessEngine`; `serve` runs in the process.
Takes the calls of a screen, gives the answers of `core/engine/local` over a socket.
"""
