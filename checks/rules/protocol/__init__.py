"""Words and arrays that two programs share: packing, layout, fixtures, tests."""
