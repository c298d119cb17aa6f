package validate

import (
	"encoding/json"
	"strconv"
	"strings"
)

// The library compares numbers as big.Rat: exactly, but at a price that depends
// on how a number is spelled. 1e400 costs little more than 1; 1e1000000 takes
// 25 milliseconds and 400 kilobytes; from there on big.Rat refuses, and the
// library follows the nil that it returns.

// magnitude says how big the numerator or the denominator of a number is, in
// decimal digits, give or take a few.
func magnitude(n json.Number) int {
	digits, exp, _ := strings.Cut(strings.ToLower(string(n)), "e")
	if exp == "" {
		return len(digits)
	}
	e, err := strconv.Atoi(exp)
	if err != nil || e > maxExponent || e < -maxExponent {
		return len(digits) + maxExponent
	}
	return len(digits) + max(e, -e)
}

const (
	maxExponent = 10_000_000
	maxDigits   = 100_000 // of a number that is compared
)

// numberWork is what it costs to read a number or compare it, in units of work.
func numberWork(magnitude int) int {
	if magnitude > maxDigits {
		return maxWork + 1
	}
	return 3 + magnitude/10 + magnitude*magnitude/20_000
}

// sizeOf counts the values in a value, itself included.
func sizeOf(v any) int {
	n := 1
	for item := range parts(v) {
		n += sizeOf(item)
	}
	return n
}
