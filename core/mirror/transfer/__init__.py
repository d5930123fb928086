"""Ways to copy files to and from a cluster: rsync, or commands only.

Takes lists of files and an open transport, gives written files on either side, each renamed into
its place when complete. `core/mirror` decides which files are copied.
"""
