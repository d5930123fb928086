"""Completed and submitted records, column caches and Row's file formats: atomic, without locks."""
