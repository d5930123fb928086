"""Errors, files, text, values and filters that all other packages use; it imports none of them."""
