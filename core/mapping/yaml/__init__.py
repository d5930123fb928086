"""YAML with the position of every node, its layout, and its faults in words.

Takes text, gives a tree of nodes with positions, or formatted text. The meaning of the nodes is
left to `core/mapping/files`.
"""
