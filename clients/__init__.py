"""The Flower client app: decodes a message, calls `fedbn.rounds`, encodes the reply."""
