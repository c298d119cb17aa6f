package jsonvalue

import (
	"math/big"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// The limits of decimal numbers.
const (
	// plainExponent is the maximum length of an exponent that fits 32 bits, with its e and its sign.
	plainExponent = 10
	// maxExponentDigits is the maximum number of digits of an exponent that Decimal adds to.
	maxExponentDigits = 1000
	// MostScale bounds the exponent and the digits of numbers that Rational reads.
	MostScale = 1000
)

// Decimal returns a JSON number as digits and a power of ten. Two numbers have the same text if and
// only if they have the same value; nothing is rounded. Only numbers whose exponent has more than
// maxExponentDigits digits keep their notation.
func Decimal(token string) string {
	exponentIndex := strings.IndexAny(token, "eE")
	if exponentIndex < 0 || len(token)-exponentIndex <= plainExponent {
		return jsonraw.PlainNumber(token)
	}
	digits, power, _ := strings.Cut(jsonraw.PlainNumber(token[:exponentIndex]), "e")
	exponent, negative := strings.CutPrefix(strings.TrimPrefix(token[exponentIndex+1:], "+"), "-")
	exponent = strings.TrimLeft(exponent, "0")
	if exponent == "" {
		exponent = "0"
	}
	sign := ""
	if negative {
		sign = "-"
	}
	if digits == "0" {
		return "0e0"
	}
	if len(exponent) > maxExponentDigits {
		return digits + "e" + power + "e" + sign + exponent
	}
	sum, _ := new(big.Int).SetString(sign+exponent, 10)
	powerNumber, _ := new(big.Int).SetString(power, 10)
	return digits + "e" + sum.Add(sum, powerNumber).String()
}

// Rational returns the value of a result of Decimal, or nil if it is too large.
func Rational(text string) *big.Rat {
	digits, power, _ := strings.Cut(text, "e")
	exponent, err := strconv.Atoi(power)
	if err != nil || len(digits) > MostScale || exponent > MostScale || exponent < -MostScale {
		return nil
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// Apart returns the distance between two results of Decimal, or nil if either is too large.
func Apart(a, b string) *big.Rat {
	x := Rational(a)
	y := Rational(b)
	if x == nil || y == nil {
		return nil
	}
	return x.Abs(x.Sub(x, y))
}

// ecmaNumber returns a number in the notation of ECMAScript (RFC 8785, section 3.2.2.3), but keeps
// all digits. text is a result of Decimal, such as -125e-1. ecmaNumber returns it unchanged if the
// exponent is too large for a program that reads numbers as doubles.
func ecmaNumber(text string) string {
	signedDigits, power, _ := strings.Cut(text, "e")
	digits, negative := strings.CutPrefix(signedDigits, "-")
	sign := ""
	if negative {
		sign = "-"
	}
	exponent, err := strconv.Atoi(power)
	if err != nil || len(power) > 18 {
		return text
	}
	if digits == "0" {
		return "0"
	}
	k := len(digits)
	n := k + exponent // the number of digits before the point
	if k <= n && n <= 21 {
		return sign + digits + strings.Repeat("0", n-k)
	}
	if 0 < n && n <= 21 {
		return sign + digits[:n] + "." + digits[n:]
	}
	if -6 < n && n <= 0 {
		return sign + "0." + strings.Repeat("0", -n) + digits
	}
	if k > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	plus := ""
	if n > 0 {
		plus = "+" // ECMAScript writes the sign of a positive exponent
	}
	return sign + digits + "e" + plus + strconv.Itoa(n-1)
}

// Rising reports whether there are at least three numbers and each is greater than the previous, as
// for a counter or process ids. The next number is then outside of their range.
func Rising(all []*Node) bool {
	for i, n := range all[1:] {
		if n.Kind != Number || all[i].Kind != Number {
			return false
		}
		previous := Rational(all[i].Text)
		next := Rational(n.Text)
		if previous == nil || next == nil || previous.Cmp(next) >= 0 {
			return false
		}
	}
	return len(all) > 2
}
