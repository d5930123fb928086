"""The network: samples that flow, the job graph that they make, and who goes first. Pure."""
