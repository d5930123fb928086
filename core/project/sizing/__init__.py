"""Right-sizing of a project: what explains the usage of its jobs, and settings that follow from it.

Takes an open project and the usage of its jobs. Gives the numbers of the jobs' directories, the
what-if that an action's recommendation is, and changes of workflow.toml, shown or written. The
statistics are left to `core/usage`, the editing of the file to `core/workflow`.
"""
