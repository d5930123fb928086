"""`rowtui show`: status, directories, jobs, clusters and launchers.

Takes an open project, gives Row's tables byte for byte, or JSON. Nothing is submitted. The modules
are chosen so that the smallest commands start fast.
"""
