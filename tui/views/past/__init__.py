"""The view Past: what ran when.

Takes the engine's answer about the jobs that have ended, gives charts of them. The numbers are
computed by `core/usage`, the drawing is left to `tui/widgets/chart.py`.
"""
