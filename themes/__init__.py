"""Themes: one TOML file per theme, data only."""
