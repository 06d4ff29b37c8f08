"""From tokens to attributes: the column language, templates, feature dicts and arrays."""
