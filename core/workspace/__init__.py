"""Directories and values on disk: discovery, reading, scanning for products, watching."""
