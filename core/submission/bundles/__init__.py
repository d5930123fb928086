"""Scripts that run many requests in one scheduler job: bundles and pilots."""
