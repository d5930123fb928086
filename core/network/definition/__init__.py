"""A network.toml as a `Network`: parsing and checking.

Takes text, gives a `Network` or every problem with its position. Reading the rows of sources is
left to `core/runs`.
"""
