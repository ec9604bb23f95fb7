"""Hosts for the tests of the launchers: namespaces and guests on one bridge, in one namespace."""
