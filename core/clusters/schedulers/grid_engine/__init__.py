"""Grid Engine as a scheduler: its commands, their output, and the reasons of its states."""
