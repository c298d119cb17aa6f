package schema

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// compareNumbers compares two JSON numbers exactly. It returns false if an exponent is too large.
// Its time depends on the number of digits, not on the numbers' magnitude.
func compareNumbers(x, y string) (int, bool) {
	a, okA := parseNumber(x)
	b, okB := parseNumber(y)
	if !okA || !okB {
		return 0, false
	}
	if a.sign != b.sign || a.sign == 0 {
		return cmp.Compare(a.sign, b.sign), true
	}
	if a.magnitude != b.magnitude {
		return a.sign * cmp.Compare(a.magnitude, b.magnitude), true
	}
	return a.sign * strings.Compare(a.digits, b.digits), true
}

// A number is the sign times 0.DIGITS times ten to the magnitude. DIGITS have no zeros at either
// end, so they compare as texts.
type number struct {
	sign      int
	digits    string
	magnitude int64
}

// parseNumber parses a JSON number. It returns false if the exponent is too large.
func parseNumber(text string) (number, bool) {
	mantissa, exponent, ok := strings.Cut(jsonraw.PlainNumber(text), "e")
	power, err := strconv.ParseInt(exponent, 10, 64)
	if !ok || err != nil {
		return number{}, false
	}
	sign := 1
	digits, negative := strings.CutPrefix(mantissa, "-")
	if negative {
		sign = -1
	}
	if digits == "0" {
		return number{}, true
	}
	return number{sign: sign, digits: digits, magnitude: power + int64(len(digits))}, true
}

// isMultiple reports whether x is a multiple of y. known is false if the numbers are too large to
// divide.
func isMultiple(x, y string) (is, known bool) {
	a, okA := Rational(x)
	b, okB := Rational(y)
	if !okA || !okB || b.Sign() == 0 {
		return false, false
	}
	return a.Quo(a, b).IsInt(), true
}

// Rational parses a JSON number of at most 40 digits between 1e-40 and 1e40.
func Rational(text string) (*big.Rat, bool) {
	n, ok := parseNumber(text)
	if !ok || len(n.digits) > 40 || n.magnitude > 40 || n.magnitude < -40 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}
