"""Checks of a plan before its submission, each in a module of its own.

Takes a plan and its project, gives findings as each check ends: budgets, the scheduler's own
verdict, and differences to earlier scripts. The decision to submit is left to the user.
"""
