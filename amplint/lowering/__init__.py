"""The static witness: from LibCST trees to the events of `amplint.model`."""
