package match

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/suggest"
)

// A Kind is the reason why two differing values are accepted as equal.
type Kind string

// The kinds of a matcher in a file: the values that each accepts.
const (
	Ignore    Kind = "ignore"    // any value, or a missing one
	Type      Kind = "type"      // the same JSON type
	Regex     Kind = "regex"     // texts that match the expression
	Number    Kind = "number"    // numbers within the tolerance
	Time      Kind = "time"      // times in the same format
	UUID      Kind = "uuid"      // UUIDs
	Unordered Kind = "unordered" // lists in any order; items are paired by a key
)

// The kinds that do not occur in files.
const (
	Protocol   Kind = "protocol"   // a member that belongs to the protocol, not to the answer
	Bound      Kind = "bound"      // a handle
	Normalised Kind = "normalised" // a number in another notation, or {} for a missing value
	ByHash     Kind = "hash"       // a secret that is hidden on one side, with the same hash
	ByLength   Kind = "length"     // a secret that is hidden on one side, with the same length
	ByPlace    Kind = "unknown"    // a secret that is hidden on one side, with an unknown value
)

// matcherWords are the first words of matchers in files.
var matcherWords = []string{
	string(Ignore),
	string(Type),
	string(Regex),
	string(Number),
	string(Time),
	string(UUID),
	string(Unordered),
}

// maxExpression bounds the regular expression of a matcher, in bytes.
const maxExpression = 1000

// A Matcher accepts values that are not equal. The zero value accepts no such value.
type Matcher struct {
	Kind Kind
	// Arg is the expression of Regex, the tolerance of Number as a JSON number ("" accepts any
	// number), the JSON pointer to the key of Unordered ("" is the whole item), or the kind of a
	// handle.
	Arg string

	expression *regexp.Regexp
	tolerance  *big.Rat
	pair       []string // the values that Protocol accepts, as JSON; nil accepts any
}

// ParseMatcher parses a matcher: "ignore", "type", "regex EXPRESSION", "number", "number +-0.5",
// "time", "uuid", "unordered" or "unordered by /key". Errors are of type *jsonvalue.SyntaxError.
func ParseMatcher(text string) (Matcher, error) {
	word, arg, _ := strings.Cut(text, " ")
	arg = strings.TrimSpace(arg)
	offset := 0 // of arg, or of the word if arg is missing
	if arg != "" {
		offset = strings.LastIndex(text, arg) // only blanks follow arg
	}
	m := Matcher{Kind: Kind(word)}
	bad := func(offset int, format string, args ...any) (Matcher, error) {
		return Matcher{}, &jsonvalue.SyntaxError{Offset: offset, Text: fmt.Sprintf(format, args...)}
	}
	switch m.Kind {
	case Ignore, Type, Time, UUID:
		if arg != "" {
			return bad(offset, "%s takes no value, got %q", word, arg)
		}
		return m, nil
	case Regex:
		return regexMatcher(arg, offset)
	case Number:
		tolerance, hasSign := strings.CutPrefix(arg, "+-")
		if !hasSign {
			tolerance, hasSign = strings.CutPrefix(arg, "±")
		}
		if arg == "" {
			return m, nil
		}
		m = numberMatcher(strings.TrimSpace(tolerance))
		if !hasSign || m.Kind == "" {
			return bad(offset, "number is followed by +- and a number from 0 on, as in number +-0.5; got %q", arg)
		}
		return m, nil
	case Unordered:
		key, hasBy := strings.CutPrefix(arg, "by ")
		m.Arg = strings.TrimSpace(key)
		hasKey := hasBy && strings.HasPrefix(m.Arg, "/")
		if arg != "" && !hasKey {
			return bad(
				offset,
				"unordered is followed by nothing or by the JSON pointer of a key, as in unordered by /id; got %q",
				arg,
			)
		}
		return m, nil
	}
	unknown := fmt.Sprintf("unknown matcher %q; the matchers are %s", word, strings.Join(matcherWords, ", "))
	return bad(0, "%s", suggest.OrMeant(unknown, word, matcherWords))
}

// regexMatcher returns the matcher of an expression. offset is the expression's offset, for errors.
func regexMatcher(text string, offset int) (Matcher, error) {
	if text == "" || len(text) > maxExpression {
		return Matcher{}, &jsonvalue.SyntaxError{
			Offset: offset,
			Text:   fmt.Sprintf("regex is followed by an expression of at most %d bytes", maxExpression),
		}
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return Matcher{}, &jsonvalue.SyntaxError{Offset: offset, Text: reason}
	}
	return Matcher{Kind: Regex, Arg: text, expression: expression}, nil
}

// numberMatcher returns a matcher with a tolerance. Its Kind is "" if the text is not a
// non-negative number within the limits of jsonvalue.Rational.
func numberMatcher(text string) Matcher {
	if !jsonraw.IsNumber([]byte(text)) || jsonraw.Valid([]byte(text)) != nil {
		return Matcher{}
	}
	tolerance := jsonvalue.Rational(jsonvalue.Decimal(text))
	if tolerance == nil || tolerance.Sign() < 0 {
		return Matcher{}
	}
	return Matcher{Kind: Number, Arg: text, tolerance: tolerance}
}

// String returns the matcher in the notation of ParseMatcher.
func (m Matcher) String() string {
	if m.Arg == "" {
		return string(m.Kind)
	}
	if m.Kind == Number {
		return "number +-" + m.Arg
	}
	if m.Kind == Unordered {
		return "unordered by " + m.Arg
	}
	return string(m.Kind) + " " + m.Arg
}

// Accepts reports whether the matcher accepts two JSON values. Ignore accepts any two values.
// Unordered accepts equal values only, since it applies to items one by one.
func (m Matcher) Accepts(recorded, current []byte) bool {
	a, err := jsonvalue.Parse(recorded)
	b, currentErr := jsonvalue.Parse(current)
	if err != nil || currentErr != nil {
		return false
	}
	return a.Is(b) || m.accepts(a, b)
}

// accepts reports whether the matcher accepts two differing values.
func (m Matcher) accepts(recorded, current *jsonvalue.Node) bool {
	if m.Kind == Ignore || m.Kind == Protocol {
		isInPair := func(n *jsonvalue.Node) bool { return slices.Contains(m.pair, string(n.Raw)) }
		return m.pair == nil || isInPair(recorded) && isInPair(current) // Ignore has no pair
	}
	if m.Kind == Bound { // 7 and "a" may be ids of one request
		return recorded.IsLeaf() && current.IsLeaf()
	}
	if recorded.Kind != current.Kind {
		return false
	}
	switch m.Kind {
	case Type:
		return true
	case Regex:
		matches := func(n *jsonvalue.Node) bool { return m.expression.MatchString(n.Text) }
		return recorded.Kind == jsonvalue.String && matches(recorded) && matches(current)
	case Number:
		if recorded.Kind != jsonvalue.Number {
			return false
		}
		if m.tolerance == nil {
			return true
		}
		difference := jsonvalue.Apart(recorded.Text, current.Text)
		return difference != nil && difference.Cmp(m.tolerance) <= 0
	case Time:
		form := timeFormat(recorded)
		return form != 0 && form == timeFormat(current)
	case UUID:
		return isUUID(recorded) && isUUID(current)
	}
	return false
}

// decidesWhole reports whether the matcher decides on a value as a whole. Unordered decides on the
// items.
func (m Matcher) decidesWhole() bool { return m.Kind != "" && m.Kind != Unordered }

// timeFormats are the accepted forms of a time, the most specific first.
var timeFormats = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00", time.DateOnly, time.RFC1123, time.RFC1123Z, time.UnixDate, time.ANSIC,
}

const (
	// maxTimeText bounds a text that is parsed as a time, in bytes.
	maxTimeText = 64
	// secondsDigits and millisecondsDigits are the numbers of digits before the point of a time from
	// 2001 to 2286, in seconds and in milliseconds since 1970.
	secondsDigits      = 10
	millisecondsDigits = 13
)

// timeFormat returns a positive number for the time format of a value, or 0 if the value is not a
// time.
func timeFormat(n *jsonvalue.Node) int {
	if n.Kind == jsonvalue.String && len(n.Text) <= maxTimeText {
		for i, form := range timeFormats {
			if _, err := time.Parse(form, n.Text); err == nil {
				return i + 1
			}
		}
	} else if n.Kind == jsonvalue.Number {
		return epochFormat(n.Text)
	}
	return 0
}

// epochFormat returns the form of seconds or of milliseconds since 1970, with or without a
// fraction, or 0 if the number is neither. text is a jsonvalue.Decimal: digits, "e" and a power of
// ten. The forms of numbers follow the indexes of timeFormats.
func epochFormat(text string) int {
	digits, power, _ := strings.Cut(text, "e")
	exponent, err := strconv.Atoi(power)
	if err != nil || strings.HasPrefix(digits, "-") || len(digits) > jsonvalue.MostScale {
		return 0
	}
	switch len(digits) + exponent {
	case secondsDigits:
		return len(timeFormats) + 1
	case millisecondsDigits:
		return len(timeFormats) + 2
	}
	return 0
}

// isUUID reports whether a value is a UUID (RFC 9562, section 4).
func isUUID(n *jsonvalue.Node) bool {
	if n.Kind != jsonvalue.String || len(n.Text) != 36 {
		return false
	}
	for i := range len(n.Text) {
		c := n.Text[i] | 0x20 // in lower case
		isValid := n.Text[i] >= '0' && n.Text[i] <= '9' || c >= 'a' && c <= 'f'
		if i == 8 || i == 13 || i == 18 || i == 23 {
			isValid = n.Text[i] == '-'
		}
		if !isValid {
			return false
		}
	}
	return true
}
