"""One login that all rowtui processes of a user share.

A process of its own holds the connection and runs commands that arrive on a socket which only this
user can open. Takes commands from other processes, gives their output and exit status. Logging in
is left to `core/clusters/transports`.
"""
