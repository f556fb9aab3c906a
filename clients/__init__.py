"""The Flower client app: decodes a message, calls `fedbn.federation.rounds`, encodes the reply."""
