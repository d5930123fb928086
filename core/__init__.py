"""All logic and actions of rowtui, without Textual and without printing (docs/architecture.md)."""

__version__ = "0.1.0"
