"""Hosts for the tests of the engines: namespaces and guests on one bridge, in one namespace."""
