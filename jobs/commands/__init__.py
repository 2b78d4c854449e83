"""The subcommands of `tlagrid`; each module has a `register(app)`."""
