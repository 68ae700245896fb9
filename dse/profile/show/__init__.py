"""A profile shown: as text, as a page, as graphs."""
