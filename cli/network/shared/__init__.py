"""What several `network` commands share: driving a run, its text and its JSON."""
