"""`rowtui explain` and `rowtui mapping`: where jobs go, and the files that decide it.

Takes an action or mapping files, gives decisions as text, findings, and files in standard layout.
Deciding is left to `core/mapping`.
"""
