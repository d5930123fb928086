"""Passwords from wherever this user keeps them, and never anywhere else."""
