internal import Glibc

/// A power; in a separate file so that parsers need no C library.
func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }
