"""Changes to Textual: speed, terminals that go away, and terminals without glyphs.

Takes Textual's classes, gives subclasses or replacements with the same behaviour and less work.
Each module states what it replaces and why. Nothing here knows of projects.
"""
