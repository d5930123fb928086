"""One object for commands and screens: it wires the rooms and decides nothing itself."""
