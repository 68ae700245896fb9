"""Results: tables and what is known of them, in memory and on the disk."""
