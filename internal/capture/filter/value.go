package filter

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// newValue returns the test for one value of the field. op is the comparison, or "" if the filter
// names no operator. Its errors are *Error without an offset.
func (f *field) newValue(op string, a atom, now time.Time, j Judge) (value, error) {
	if f.byJudge {
		return f.newJudgedValue(a, j)
	}
	if f.traits != nil && j != nil && strings.EqualFold(a.text, hasFinding) {
		v, err := f.newTraitValue(a)
		return func(c *candidate) bool { return v(c) || c.hasFinding(j, func(string) bool { return true }) }, err
	}
	if f.matchesLine != nil {
		// Every hidden secret has this word: do not parse other lines.
		secretSearch := search{
			matches: func(line []byte) bool {
				return bytes.Contains(line, []byte("sha256")) && f.matchesLine(a.text, string(line))
			},
		}
		return func(c *candidate) bool { return c.search(secretSearch) }, nil
	}
	if f.inTraffic {
		text := newNeedle(a.text)
		return func(c *candidate) bool { return c.search(text.search()) }, nil
	}
	if f.traits != nil {
		return f.newTraitValue(a)
	}
	if f.bounds != nil {
		return f.newNumberValue(op, a, now)
	}
	return f.newTextValue(a)
}

// newTextValue returns the test for a text, a glob unless it is in quotes: then it must equal the
// whole text. It returns an error if the field has known values and the text matches no value.
func (f *field) newTextValue(a atom) (value, error) {
	test := func(text string) bool { return MatchGlob(a.text, text) }
	if a.quoted {
		test = func(text string) bool { return strings.EqualFold(a.text, text) }
	}
	if known := f.knownValues(); known != nil && !slices.ContainsFunc(known, test) {
		return nil, f.unknownValue(a)
	}
	matchesMore := f.moreTexts != nil && strings.HasPrefix(strings.ToLower(a.text), notificationPrefix)
	return func(c *candidate) bool {
		text := f.text(c.row)
		if text == "" && f.excludesEmpty {
			return false
		}
		if test(text) || f.shortText != nil && test(f.shortText(c.row)) {
			return true
		}
		return matchesMore && slices.ContainsFunc(f.moreTexts(c.row), test)
	}, nil
}

// newJudgedValue returns the test for a word of the Judge.
func (f *field) newJudgedValue(a atom, j Judge) (value, error) {
	test := func(word string) bool { return MatchGlob(a.text, word) }
	if j != nil && !slices.ContainsFunc(j.Words(), test) {
		return nil, &Error{
			Word:  a.text,
			Known: j.Words(),
			Text:  fmt.Sprintf("%s has no value %q: use a rule, a tag or a severity of mcpc check", f.name, a.text),
		}
	}
	return func(c *candidate) bool { return c.hasFinding(j, test) }, nil
}

// knownValues returns all possible values; nil if any value is possible.
func (f *field) knownValues() []string {
	if f.knownTexts != nil {
		return f.knownTexts()
	}
	var words []string
	for _, trait := range f.traits {
		words = append(words, trait.name)
	}
	return words
}

// termWithValue returns the term of a field that has this value; "" if no field has it.
func termWithValue(value string) string {
	value = strings.ToLower(value)
	for _, f := range fields {
		if slices.Contains(f.knownValues(), value) {
			return f.name + ":" + value
		}
	}
	return ""
}

// unknownValue returns the error for a value that the field cannot have.
func (f *field) unknownValue(a atom) error {
	known := f.knownValues()
	return &Error{
		Word:       a.text,
		Known:      known,
		Suggestion: termWithValue(a.text),
		Text:       fmt.Sprintf("%s has no value %q: use %s", f.name, a.text, strings.Join(known, ", ")),
	}
}

// newTraitValue returns the test for a trait.
func (f *field) newTraitValue(a atom) (value, error) {
	for _, trait := range f.traits {
		if strings.EqualFold(trait.name, a.text) {
			if trait.kinds != nil {
				return func(c *candidate) bool { return slices.Contains(trait.kinds, c.kind) }, nil
			}
			return func(c *candidate) bool { return trait.test(c.row) }, nil
		}
	}
	return nil, f.unknownValue(a)
}

// newNumberValue returns the test for a number. A value can cover a range, as 4xx and a day do: a
// row is greater if it is greater than the whole range. For a sample of a page, the test is whether
// a number between the page's bounds may satisfy the comparison.
func (f *field) newNumberValue(op string, a atom, now time.Time) (value, error) {
	low, high, ok := f.parseRange(a, now)
	if !ok || op != "" && strings.Contains(a.text, "..") {
		return nil, &Error{Text: fmt.Sprintf("%s takes %s, not %q", f.name, f.valueHint, op+a.text)}
	}
	if op == "" {
		op = f.defaultOperator
	}
	return func(c *candidate) bool {
		if c.isSample && f.hasBounds {
			least, ok := f.number(c.least)
			most, _ := f.number(c.most)
			return ok && compare(op, least, most, low, high)
		}
		n, ok := f.number(c.row)
		return ok && compare(op, n, n, low, high)
	}, nil
}

// compare reports whether a number between least and most may satisfy a comparison with the range
// from low to high. No comparison is equality.
func compare(op string, least, most, low, high int64) bool {
	switch op {
	case ">":
		return most > high
	case ">=":
		return most >= low
	case "<":
		return least < low
	case "<=":
		return least <= high
	case "!=":
		return least < low || most > high
	}
	return most >= low && least <= high
}

// parseRange parses a value, or a range of values with at least one end: a missing end is no limit.
func (f *field) parseRange(a atom, now time.Time) (low, high int64, ok bool) {
	from, to, ranged := strings.Cut(a.text, "..")
	if !ranged {
		return f.bounds(a.text, now)
	}
	if from == "" && to == "" {
		return 0, 0, false
	}
	low = math.MinInt64
	high = math.MaxInt64
	ok = true
	if from != "" {
		low, _, ok = f.bounds(from, now)
	}
	if to != "" && ok {
		_, high, ok = f.bounds(to, now)
	}
	return low, high, ok
}

// integerBounds parses a whole number.
func integerBounds(text string, _ time.Time) (low, high int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, n, err == nil
}

// statusBounds parses a status such as 404, or a class such as 4xx.
func statusBounds(text string, now time.Time) (low, high int64, ok bool) {
	class, isClass := strings.CutSuffix(strings.ToLower(text), "xx")
	low, high, ok = integerBounds(class, now)
	if isClass {
		return low * 100, low*100 + 99, ok && low > 0 && low < 10
	}
	return low, high, ok
}

// durationBounds parses a duration such as 500ms. It returns nanoseconds.
func durationBounds(text string, _ time.Time) (low, high int64, ok bool) {
	d, err := time.ParseDuration(strings.ToLower(text))
	return int64(d), int64(d), err == nil
}

var sizeUnits = []struct {
	suffix string
	factor float64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"b", 1}, {"", 1}}

// sizeBounds parses a number of bytes, as Size does.
func sizeBounds(text string, _ time.Time) (low, high int64, ok bool) {
	n, ok := Size(text)
	return n, n, ok
}

// Size parses a number of bytes: 10kb, 1.5mib, 300. It reports false if the text is no size, or
// 2^60 bytes or more.
func Size(text string) (int64, bool) {
	for _, u := range sizeUnits {
		number, found := strings.CutSuffix(strings.ToLower(text), u.suffix)
		if !found { // the last unit, "", fits any text
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		n *= u.factor
		return int64(n), err == nil && n >= 0 && n < 1<<60
	}
	return 0, false
}

// timeLayouts are the ways to write a time, with the length of the period that each names. A time
// without a date is of today.
var timeLayouts = []struct {
	layout string
	lasts  time.Duration
}{
	{"2006-01-02", 0}, // a day does not always have 24 hours
	{"2006-01-02T15:04", time.Minute},
	{"2006-01-02 15:04", time.Minute},
	{"2006-01-02T15:04:05", time.Second},
	{"2006-01-02 15:04:05", time.Second},
	{time.RFC3339Nano, 1},
	{"15:04", time.Minute},
	{"15:04:05", time.Second},
}

// timeBounds parses a day, a minute, a second or an instant. It returns the first and the last
// nanosecond of it, since 1970.
func timeBounds(text string, now time.Time) (low, high int64, ok bool) {
	for _, l := range timeLayouts {
		from, err := time.ParseInLocation(l.layout, strings.ToUpper(text), now.Location())
		if err != nil {
			continue
		}
		if !strings.HasPrefix(l.layout, "2006") {
			y, m, d := now.Date()
			from = time.Date(y, m, d, from.Hour(), from.Minute(), from.Second(), 0, now.Location())
		}
		to := from.Add(l.lasts)
		if l.lasts == 0 {
			to = from.AddDate(0, 0, 1)
		}
		return from.UnixNano(), to.UnixNano() - 1, from.Year() >= 1970 && from.Year() < 2200
	}
	return 0, 0, false
}

// sinceBounds parses a time, or how long ago it was: 90s, 10m, 2h, or 3d for three times 24 hours.
func sinceBounds(text string, now time.Time) (low, high int64, ok bool) {
	ago, ok := parseAgo(text)
	if !ok {
		return timeBounds(text, now)
	}
	begin := now.Add(-ago).UnixNano()
	return begin, begin, true
}

// parseAgo parses a duration that is not negative: a number of days, such as 3d, or 10m as in Go.
func parseAgo(text string) (ago time.Duration, ok bool) {
	text = strings.ToLower(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		const maxDays = 20_000 // more would overflow
		n, err := strconv.Atoi(days)
		return time.Duration(n) * 24 * time.Hour, err == nil && n >= 0 && n < maxDays
	}
	ago, err := time.ParseDuration(text)
	return ago, err == nil && ago >= 0
}
