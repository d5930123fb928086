"""The interface between screens and a project, and its values as JSON."""
