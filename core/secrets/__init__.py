"""Passwords from the places where the user keeps them, stored by rowtui nowhere else."""
