"""The options of every command, apart from what the commands do.

The parser of the whole command line is built from these modules at every start. They import nothing
heavy; what a command needs to run (a database, a web server, numpy) stands in the command's module.
"""
