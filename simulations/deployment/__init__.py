"""Federated rounds between machines: keys, commands of sites and servers, couriers, a demo."""
