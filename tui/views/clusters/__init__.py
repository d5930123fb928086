"""The clusters: connections, logins and load."""
