"""Word alignment: which words of two sentences translate each other, learned from sentence pairs alone."""
