"""Changes to Textual: speed, terminals that go away, and terminals without glyphs.

Takes Textual's classes, gives subclasses or replacements with the same behaviour and less work.
Each module states what it replaces, and the measurement or the test that justifies it; `glyphs` is
a table alone. Nothing here knows of projects.
"""
