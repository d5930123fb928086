"""Commands on clusters and logins: connect, disconnect, doctor, secrets.

Takes the name of a cluster or a secret, gives logins that other commands use, and reports of what
works. Connecting itself is left to `core/clusters/transports`.
"""
