"""The dashboard in a browser: needs the extra `rowtui[serve]`."""
