"""Explanations: what limits a design, where its time goes, and what to change next."""
