"""YAML with the position of every node, its layout, and its faults in words."""
