"""`rowtui check` and `rowtui schema`: the files that users write, without any cluster.

The room knows each kind of file, with its place, its JSON Schema, and the loader that finds its
problems. Loading is left to the rooms of `core`, and of `tui` for keys, commands and themes.
"""
