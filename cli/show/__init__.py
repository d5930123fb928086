"""`rowtui show`: status, directories, jobs, clusters and launchers."""
