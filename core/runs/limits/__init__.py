"""What a run may use, has used, and will need: limits, estimates, simulated runs."""
