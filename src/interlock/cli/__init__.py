"""The command line: `interlock`, or `il` for short. One file per noun, output in one place.

Modules here import late and little, so that asking for help costs next to nothing. None of them decides anything: they
read options, hand them to the core, and print what came back.
"""
