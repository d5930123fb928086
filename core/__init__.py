"""All that decides and acts: no Textual, no printing (docs/architecture.md)."""

__version__ = "0.1.0"
