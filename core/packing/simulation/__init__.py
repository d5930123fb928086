"""CAVATICA's scheduling while jobs arrive: the online engine, and its simulation."""
