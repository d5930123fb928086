"""Network runs of a project: read sources, make directories, observe states and submit jobs."""
