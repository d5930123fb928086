"""The objects and modules of Galaxy that the code of mapping files can use."""
