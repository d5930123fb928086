"""What jobs used: processor time, peak memory, wall time; tables, shares and recommendations.

Takes the measurements of job scripts and schedulers' accounts. Gives one record per job, stored as
columns in `.row/rowtui/usage/`, and tables of used against requested amounts. Asking schedulers is
left to `core/clusters`, finding the ends of jobs to `core/submission`.
"""
