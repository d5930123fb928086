"""The values of the mapper: entities, tags, requests and decisions."""
