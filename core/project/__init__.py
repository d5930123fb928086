"""An open project for commands and screens. This package connects the other rooms.

The room takes a folder and the user's choices of cluster and directories. It gives the answers and
actions that commands and screens need: status, requests, explanations, plans, submissions, retries
and logs. The decisions are left to the rooms that it calls.
"""
