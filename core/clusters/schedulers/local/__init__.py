"""The queue of this machine, without a server: files, one supervisor, and a keeper for each job.

Takes job specifications and stores them in a folder of the user. One supervisor process starts jobs
within the machine's CPUs, memory and GPUs, and a keeper process accompanies each job to its end.
Gives the answers of the scheduler protocol, with the reason for which each job waits.
"""
