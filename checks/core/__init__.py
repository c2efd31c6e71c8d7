"""What every rule speaks: a change and its functions, trees, findings, and the configuration."""
