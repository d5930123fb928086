"""Speed and memory of rowtui, beside Row and beside what nothing at all costs."""
