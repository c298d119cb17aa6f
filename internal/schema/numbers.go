package schema

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// compareNumbers orders two JSON numbers without rounding; false where an exponent is too
// large to be one. It takes time by the number of digits, not by the size of the number.
func compareNumbers(x, y string) (int, bool) {
	a, okA := parseNumber(x)
	b, okB := parseNumber(y)
	if !okA || !okB {
		return 0, false
	}
	if a.sign != b.sign || a.sign == 0 {
		return cmp.Compare(a.sign, b.sign), true
	}
	// 0.DIGITS times ten to the magnitude, without zeros at either end of DIGITS: their order
	// is that of the texts.
	return a.sign * cmp.Or(cmp.Compare(a.magnitude, b.magnitude), strings.Compare(a.digits, b.digits)), true
}

type number struct {
	sign      int
	digits    string
	magnitude int64
}

func parseNumber(text string) (number, bool) {
	digits, exponent, plain := strings.Cut(jsonraw.PlainNumber(text), "e")
	power, err := strconv.ParseInt(exponent, 10, 64)
	if !plain || err != nil {
		return number{}, false
	}
	n := number{sign: 1}
	if n.digits, plain = strings.CutPrefix(digits, "-"); plain {
		n.sign = -1
	}
	if n.digits == "0" {
		return number{}, true
	}
	n.magnitude = power + int64(len(n.digits))
	return n, true
}

// multiple reports whether x is a multiple of y; known is false where the numbers are too
// large to divide.
func multiple(x, y string) (is, known bool) {
	a, okA := rational(x)
	b, okB := rational(y)
	if !okA || !okB || b.Sign() == 0 {
		return false, false
	}
	return a.Quo(a, b).IsInt(), true
}

// rational is a number of at most 40 digits between 1e-40 and 1e40.
func rational(text string) (*big.Rat, bool) {
	n, ok := parseNumber(text)
	if !ok || len(n.digits) > 40 || n.magnitude > 40 || n.magnitude < -40 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}
