"""A profile shown: on the terminal (``text``) and as a page (``page``), with its call ``graph``."""
