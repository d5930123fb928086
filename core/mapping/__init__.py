"""The mapper: where a job may go, where it should go, and why.

This is a Total Perspective Vortex engine for workflow actions. The room takes mapping files, one
job request and the known facts about clusters. It gives a placement, or a decision with all
candidates, refusals and reasons. Only finding, fetching and trusting files uses the disk or the
network. The resources and script of the placed job are left to `core/submission`. Source: TPV's
documentation, "Concepts" and "TPV by example".
"""
