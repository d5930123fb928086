"""Ways to reach a cluster over SSH. asyncssh is loaded when a first connection is opened."""
