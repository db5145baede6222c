"""Following what happens in a terminal: the queue of approvals and the tail of the log."""
