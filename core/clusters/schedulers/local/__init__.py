"""The queue of this machine, without a server: files, one supervisor, and a keeper for each job."""
