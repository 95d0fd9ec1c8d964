"""The NPU caching allocator and current streams."""
