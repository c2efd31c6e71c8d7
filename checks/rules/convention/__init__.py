"""How a pull request is written up."""
