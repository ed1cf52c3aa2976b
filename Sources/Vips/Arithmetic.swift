internal import Glibc

/// A number to a power; in a file of its own so that parsers need no C library.
func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }
