"""Search: how designs are chosen, and what is kept of them."""
