"""Runs the protocol over every feasible path of a function: control-flow graphs, liveness, joins, summaries of calls."""
