"""View 4: jobs on as few and as cheap nodes as possible."""
