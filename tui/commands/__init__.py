"""All commands of the dashboard: one registry for footer, help, palette and the `:` line.

Each command is a value with an id, keys, a label and a reason that says when the command cannot be
used. What a command shows is left to the views. To add a command to a view, edit two files:

1. Add an entry to the tuple of the view, for example `QUEUE` in `jobs.py`: id (`queue.fold`),
   keys, label and description. A function above the tuple returns the reason why the
   command cannot be used now, or ""; `enabled` names this function. Commands that several views
   share are in `everywhere.py`.
2. Add a method with the name of the command (`command_fold`) to the view, in its folder below
   `views/`. The method carries out the whole command: it reads the session, asks the user where
   that is necessary, and calls the engine in a worker (`start`).

The bottom line, the help, the palette, the command line and the key map of the user read the entry.
`docs/make_keys.py` and `docs/make_verbs.py` write the entry to the documentation.
"""
