"""Evaluation: designs as columns in, objectives and constraints as columns out."""
