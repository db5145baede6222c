"""The part of Interlock that decides, with no I/O in it.

Everything here is a value or a pure function: no clock, no store, no network, no logging. Time, rules and what the
upstreams said come in as arguments, a verdict with its reasons comes out. Nothing here may import asyncio, a database,
a web framework or the configuration; import-linter enforces it.
"""
