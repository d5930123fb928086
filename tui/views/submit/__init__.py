"""View 5: a plan before and during its submission."""
