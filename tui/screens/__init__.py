"""One module for each view, and the pages that open on top of a view."""
