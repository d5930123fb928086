"""Passwords from the places where the user keeps them, stored by rowtui nowhere else.

The room takes the name of a secret and asks environment variables, the key ring, netrc, plug-ins
and finally the user. It gives a `Secret` that never shows its text, with the providers that were
asked and their failures. Using a password in a login is left to `core/clusters`.
"""
