"""The objects and modules of Galaxy that the code of mapping files can use.

Takes a request, gives read-only objects with the attributes that files written for Galaxy expect.
Running the code is left to `core/mapping/code`.
"""
