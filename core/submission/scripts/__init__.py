"""The script of one job: header, commands, and the report of its end."""
