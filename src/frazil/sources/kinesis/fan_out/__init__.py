"""Enhanced fan-out: records that a registered consumer is sent, instead of asking for them."""
