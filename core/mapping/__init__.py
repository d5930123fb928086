"""The mapper: where a job may go, where it should go, and why.

This is a Total Perspective Vortex engine for workflow actions. Mapping files are read (`sources`,
`load`), their entities are inherited, combined and evaluated for one job request, and destinations
are matched, ranked and chosen (`mapper`). Every result contains its reasons (`decision`). Only
`sources`, `fetch` and `trust` use the disk or the network. Source: TPV's documentation, "Concepts"
and "TPV by example".
"""
