"""View 3: where a job would go, and why."""
