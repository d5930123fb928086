"""Commands on jobs: queue, logs, cancel, hold, release, retry."""
