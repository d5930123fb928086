"""Copies of projects on clusters whose file systems this machine does not share."""
