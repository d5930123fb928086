"""Ways to reach a cluster over SSH. asyncssh is imported when the first connection is opened."""
