package jsonraw

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// IsNumber reports whether a JSON value is a number. It checks the first byte only.
func IsNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// PlainNumber returns a JSON number as digits and a power of ten, without leading and trailing
// zeros: 7, 7.0 and 70e-1 are 7e0. Nothing is rounded.
func PlainNumber(number string) string {
	if whole, ok := plainWhole(number); ok {
		return whole
	}
	return plainAny(number)
}

// plainAny returns any JSON number as digits and a power of ten, see PlainNumber. It returns a number
// with an exponent of more than 32 bits unchanged.
func plainAny(number string) string {
	digits, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	digits, negative := strings.CutPrefix(digits, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	power := int64(0)
	if exponent != "" {
		var err error
		power, err = strconv.ParseInt(exponent, 10, 32)
		if err != nil {
			return number // too large an exponent for a real id; it equals only itself
		}
	}
	power -= int64(len(fraction)) // the digits have lost their decimal point
	trimmed := strings.TrimRight(digits, "0")
	power += int64(len(digits) - len(trimmed))
	if trimmed == "" {
		return "0e0"
	}
	if negative {
		trimmed = "-" + trimmed
	}
	return trimmed + "e" + strconv.FormatInt(power, 10)
}

// plainWhole returns a positive whole number of at most 20 digits as digits and a power of ten, see
// PlainNumber. Otherwise it reports false. Most numbers are whole and positive, and plainWhole is
// faster.
func plainWhole(number string) (string, bool) {
	const maxDigits = 20
	if len(number) == 0 || len(number) > maxDigits || number[0] < '1' {
		return "", false
	}
	zeros := 0 // at the end
	for i := range len(number) {
		c := number[i]
		switch {
		case c == '0':
			zeros++
		case c < '0' || c > '9':
			return "", false
		default:
			zeros = 0
		}
	}
	var room [maxDigits + len("e20")]byte
	b := append(append(room[:0], number[:len(number)-zeros]...), 'e')
	return string(strconv.AppendInt(b, int64(zeros), 10)), true
}

// Float parses a JSON number. It reports false if raw is not a number, is out of range or has more
// than 400 bytes.
func Float(raw json.RawMessage) (float64, bool) {
	const maxLength = 400 // the largest float has 309 digits; a longer number costs time
	if !IsNumber(raw) || len(raw) > maxLength {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}
