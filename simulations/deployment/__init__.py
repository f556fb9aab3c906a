"""Federated rounds between machines: keys, commands of sites and servers, a demo on one."""
