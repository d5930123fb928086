"""`rowtui network`: one module per command."""
