"""Copies of projects on clusters whose file systems this machine does not share.

The room takes the files of both sides and the manifest of their last equal state. It gives the
differences, the conflicts, and the transfers that make both sides equal. Which files a job needs,
and when they are sent, is left to `core/project/context`.
"""
