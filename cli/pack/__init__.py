"""`rowtui pack`: how jobs would share nodes."""
