"""Tables that are read batch by batch, from files and streams that need not fit in memory."""
