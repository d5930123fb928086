"""Ways to copy files to and from a cluster: SFTP, rsync, or commands only.

Takes lists of files from `core/mirror`, which decides what is copied.
"""
