"""The dashboard in a browser; this package needs the extra `rowtui[serve]`."""
