"""`rowtui plan` and `rowtui submit`: what would be sent, and sending it."""
