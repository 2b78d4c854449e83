"""What a person runs: the command, manifests, sweeps, statistics and reports."""
