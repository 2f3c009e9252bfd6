"""Run random histories of the direct writer on a simulated cluster, without sockets, threads or waiting."""
