"""The mapper: where may a job go, where should it go, and why.

A Total Perspective Vortex engine for workflow actions. Mapping files are read (`sources`, `load`),
their entities are inherited, combined and evaluated for one job request, and destinations are
matched, ranked and chosen (`mapper`); every answer explains itself (`decision`). Only `sources`,
`fetch` and `trust` touch the disk or the network. Source: TPV's documentation, "Concepts" and "TPV
by example".
"""
