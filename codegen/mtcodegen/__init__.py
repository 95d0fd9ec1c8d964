"""Turn one YAML entry into a working operator: kernels per device, shape rule, gradient and typed stub."""
