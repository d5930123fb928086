"""Changes to Textual: speed, terminals that go away, and terminals without glyphs."""
