"""Commands on clusters and logins: connect, disconnect, doctor, secrets."""
