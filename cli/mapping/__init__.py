"""`rowtui explain` and `rowtui mapping`: where jobs go, and the files that decide it."""
