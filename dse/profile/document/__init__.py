"""The profile as a document: its schema, and what must hold of it."""
