package view

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

const (
	maxSuggested = 30
	// maxCounted limits counting to the newest rows.
	maxCounted = 20_000
)

// rowValues maps filter fields to functions that return the field's value of a row. Values seen in rows
// are suggested for these fields.
var rowValues = sync.OnceValue(func() map[string]func(*rows.Row) string {
	return map[string]func(*rows.Row) string{
		"method": func(r *rows.Row) string { return r.Method }, "name": func(r *rows.Row) string { return r.Name },
		"target": func(r *rows.Row) string { return r.Target }, "channel": func(r *rows.Row) string { return r.Channel },
		"outcome": func(r *rows.Row) string { return r.Channel }, "era": func(r *rows.Row) string { return r.Era },
		"protocol": func(r *rows.Row) string { return r.Revision }, "client": (*rows.Row).ClientName,
		"server": (*rows.Row).ServerName, "session": (*rows.Row).Session,
		"http": func(r *rows.Row) string { return digits(r.Status) },
		"run":  func(r *rows.Row) string { return digits(r.Run) },
		"dir":  func(r *rows.Row) string { return r.Dir.String() },
	}
})

// digits returns a number as text, or "" if n is 0, which means unknown.
func digits(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Suggest completes the last word of a filter. Each suggestion replaces the whole word. Without a
// colon in the word it suggests fields, else values of the field, in a list "a,b" for the last
// value.
func (v *Views) Suggest(text string) []Suggestion {
	word := text[strings.LastIndexAny(text, " (")+1:]
	sign := ""
	if strings.HasPrefix(word, "-") {
		sign = "-"
		word = word[1:]
	}
	field, begun, both := strings.Cut(word, ":")
	out := []Suggestion{}
	if !both {
		for _, name := range filter.Fields() {
			if strings.HasPrefix(name, strings.ToLower(word)) {
				out = append(out, Suggestion{Text: sign + name + ":"})
			}
		}
		return out
	}
	field = strings.ToLower(field)
	before := field + ":"
	if i := strings.LastIndexByte(begun, ','); i >= 0 { // keep the values before
		before = before + begun[:i+1]
		begun = begun[i+1:]
	}
	begun = strings.TrimPrefix(begun, `"`)
	values := slices.DeleteFunc(v.countValues(field), func(s Suggestion) bool { return matchIndex(s, begun) < 0 })
	sliceutil.Sort(values, func(a, b Suggestion) int { // values that begin with the typed text come first
		return min(matchIndex(a, begun), 1) - min(matchIndex(b, begun), 1)
	})
	for _, s := range values[:min(len(values), maxSuggested)] {
		out = append(out, Suggestion{sign + before + filter.Quote(s.Text), s.Count})
	}
	return out
}

// matchIndex returns the index in a suggestion of the typed text, ignoring case, or -1.
func matchIndex(s Suggestion, typed string) int {
	return strings.Index(strings.ToLower(s.Text), strings.ToLower(typed))
}

// countValues returns the possible values of a field with the number of rows that have them, the most
// frequent first.
func (v *Views) countValues(field string) []Suggestion {
	counts := map[string]int{}
	for _, value := range v.knownValues(field) {
		counts[value] = 0
	}
	valueOf := rowValues()[field]
	// A row can have several of these values: a filter decides about each.
	filters := map[string]filter.Filter{}
	if field == "is" || field == "has" || field == "kind" {
		for value := range counts {
			if f, err := filter.Parse(field+":"+value, v.Now(), nil); err == nil {
				filters[value] = f
			}
		}
	}
	if valueOf != nil || len(filters) > 0 {
		v.eachNewest(func(r *rows.Row) {
			if valueOf != nil {
				if value := valueOf(r); value != "" {
					counts[value]++
				}
			}
			for value, f := range filters {
				if fits, err := f.Match(r); err == nil && fits {
					counts[value]++
				}
			}
		})
	}
	var out []Suggestion
	for value, count := range counts {
		out = append(out, Suggestion{value, count})
	}
	sliceutil.Sort(out, func(a, b Suggestion) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Text, b.Text))
	})
	return out
}

// eachNewest calls visit with the newest rows, at most maxCounted.
func (v *Views) eachNewest(visit func(r *rows.Row)) {
	skip := max(0, v.store.Status().Rows-maxCounted)
	_ = v.eachRow(Query{}, func(r *rows.Row) bool {
		skip--
		if skip < 0 {
			visit(r)
		}
		return true
	})
}

// knownValues returns the values that the filter language defines for a field, or nil if the field
// accepts any value.
func (v *Views) knownValues(field string) []string {
	switch field {
	case "finding":
		return v.Words
	case "dir":
		return []string{wire.Sent.String(), wire.Received.String()}
	case "is", "has", "kind", "channel", "outcome":
		// The error about an unknown value lists the known ones.
		_, err := filter.Parse(field+":?", v.Now(), nil)
		if failed, ok := errors.AsType[*filter.Error](err); ok {
			return failed.Known
		}
	}
	return nil
}

var _ Reader = (*Views)(nil)
