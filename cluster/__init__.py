"""Many attempts on many nodes: the Ray driver, the store and the ledger."""
