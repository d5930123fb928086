"""The script of one job: header, commands, and the report of its end.

Takes an action, its directories and its resources, gives bash text in which every value is quoted.
Sending the script is left to `core/submission/sending`.
"""
