"""Commands on a project as a whole: init, scan, clean, mirror; and opening a project."""
