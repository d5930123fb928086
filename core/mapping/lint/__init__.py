"""Checks of mapping files that run none of their code; they give findings with positions."""
