"""The large demo: a synthetic project on simulated clusters, with the real engine."""
