"""A network as a picture of characters: layout, boxes and links.

Takes nodes, links and their progress, gives lines of text. The functions are pure; keys and the
cursor are left to `tui/views/network`.
"""
