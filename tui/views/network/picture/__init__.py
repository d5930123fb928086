"""A network as a picture of characters: layout, boxes and links."""
