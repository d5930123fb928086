"""The network: the flow of samples, the job graph, and scheduling priorities.

The room takes a network.toml and the rows of its sources. It gives the samples of every node, the
names of their directories, and a job graph that grows when jobs report lists. Apart from reading
network.toml the package has no side effects; driving a run is left to `core/runs`.
"""
