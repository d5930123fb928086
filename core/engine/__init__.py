"""What screens ask of a project: the interface and the engines behind it.

The room takes an open project and the requests of a screen, and gives bounded, immutable answers.
`engine` defines the interface, `api` answers; `local` answers in this process and `process` from a
process of its own. Drawing is left to the screens.
"""
