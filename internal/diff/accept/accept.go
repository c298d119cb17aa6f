// Package accept reads and writes *.mcpc-accept.yaml, which lists accepted changes of a server,
// each with a reason and a last day. Callers pass the current date.
//
//	accept:
//	  - fingerprint: c123456789abcdef
//	    rule: tool-removed
//	    subject: tool get_time
//	    reason: replaced by get_clock
//	    until: 2027-03-31
//
// fingerprint, reason and until are required. rule and subject are for readers of the file; if
// rule is present, it must be the rule of the change.
package accept

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/yaml"
)

// Suffix is the suffix of the file names.
const Suffix = ".mcpc-accept.yaml"

// An Entry is one change that was accepted.
type Entry struct {
	Fingerprint, Rule, Subject, Reason string
	// Until is the last day of the acceptance, as 2006-01-02 in UTC.
	Until string
	Place yaml.Place
	// fingerprintPlace and rulePlace are the places of the fingerprint and the rule.
	fingerprintPlace, rulePlace yaml.Place
}

// A Problem is an error in a file, with its place.
type Problem struct {
	yaml.Place
	Text string
}

func (p Problem) String() string { return p.Place.String() + ": " + p.Text }

// Parse parses a file. If it returns problems, the entries must not be used.
func Parse(text []byte) ([]Entry, []Problem) {
	doc, err := yaml.Parse(text)
	if err != nil && len(doc.Problems) == 0 { // the error is the only problem
		if e, ok := err.(*yaml.Error); ok {
			return nil, []Problem{{e.Place, e.Text}}
		}
		return nil, []Problem{{yaml.Place{Line: 1, Column: 1}, err.Error()}}
	}
	r := &reader{doc: doc}
	for _, p := range doc.Problems {
		r.problems = append(r.problems, Problem{p.Place, p.Text})
	}
	r.readFile()
	sliceutil.Sort(r.problems, func(x, y Problem) int {
		if x.Line != y.Line {
			return x.Line - y.Line
		}
		return x.Column - y.Column
	})
	return r.entries, r.problems
}

// A reader collects the entries and the problems of a file.
type reader struct {
	doc      yaml.Document
	entries  []Entry
	problems []Problem
}

// report adds a problem.
func (r *reader) report(at yaml.Place, format string, args ...any) {
	r.problems = append(r.problems, Problem{at, fmt.Sprintf(format, args...)})
}

// readMapping returns the members of a mapping, and reports unknown names. It reports a value that
// is not a mapping, and returns nil.
func (r *reader) readMapping(raw json.RawMessage, pointer string, known []string) jsonraw.Members {
	members, err := jsonraw.Object(raw)
	if err != nil {
		names := strings.Join(known, ", ")
		r.report(r.doc.Place(pointer), "a mapping with %s is needed, got %s", names, jsonraw.Excerpt(raw, 40))
		return nil
	}
	for _, m := range members {
		if !slices.Contains(known, m.Name) {
			r.report(
				r.doc.NamePlace(jsonraw.Pointer(pointer, m.Name)), "%s",
				suggest.OrMeant(fmt.Sprintf("the name %q is not known", m.Name), m.Name, known),
			)
		}
	}
	return members
}

// readFile reads the entries of the file. An empty file has no entries.
func (r *reader) readFile() {
	if string(r.doc.JSON) == "null" {
		return // an empty file accepts nothing
	}
	members := r.readMapping(r.doc.JSON, "", []string{"accept"})
	list, hasList := members.Get("accept")
	if !hasList || string(list) == "null" {
		return
	}
	items, err := jsonraw.Array(list)
	if err != nil {
		r.report(r.doc.Place("/accept"), "accept must be a list, got %s", jsonraw.Excerpt(list, 40))
	}
	for i, item := range items {
		r.readEntry(item, "/accept/"+strconv.Itoa(i))
	}
}

// readEntry reads one entry, and reports missing and invalid members.
func (r *reader) readEntry(raw json.RawMessage, pointer string) {
	known := []string{"fingerprint", "rule", "subject", "reason", "until"}
	members := r.readMapping(raw, pointer, known)
	if members == nil {
		return
	}
	e := Entry{
		Place:            r.doc.Place(pointer),
		fingerprintPlace: r.doc.Place(pointer + "/fingerprint"),
		rulePlace:        r.doc.Place(pointer + "/rule"),
	}
	// The fields are in the order of known.
	for i, field := range []*string{&e.Fingerprint, &e.Rule, &e.Subject, &e.Reason, &e.Until} {
		name := known[i]
		value, isPresent := members.Get(name)
		text, isText := jsonraw.Text(value)
		*field = text
		isRequired := name == "fingerprint" || name == "reason" || name == "until"
		if isPresent && !isText {
			r.report(r.doc.Place(pointer+"/"+name), "%s is a text, got %s", name, jsonraw.Excerpt(value, 40))
		} else if isRequired && strings.TrimSpace(text) == "" {
			r.report(r.doc.Place(pointer+"/"+name), "the entry has no %s", name)
		}
	}
	if e.Rule != "" && !slices.Contains(diff.RuleIDs(), e.Rule) {
		r.report(e.rulePlace, "%s", suggest.OrMeant(fmt.Sprintf("the rule %q is not known", e.Rule), e.Rule, diff.RuleIDs()))
	}
	if _, err := time.Parse(time.DateOnly, e.Until); err != nil && e.Until != "" {
		r.report(r.doc.Place(pointer+"/until"), "until must be a date such as 2006-01-02, got %q", e.Until)
	}
	if e.Fingerprint != "" && !isFingerprint(e.Fingerprint) {
		r.report(
			e.fingerprintPlace,
			"%q is not a fingerprint: those have a c and %d hexadecimal digits",
			e.Fingerprint, fingerprintDigits,
		)
	}
	r.entries = append(r.entries, e)
}

const fingerprintDigits = 15

// isFingerprint reports whether text has the form of a fingerprint.
func isFingerprint(text string) bool {
	return len(text) == 1+fingerprintDigits && text[0] == 'c' && strings.Trim(text, "0123456789abcdef") == ""
}

// A Result is the outcome of Apply.
type Result struct {
	// Changes are all changes, with the accepted ones marked.
	Changes []diff.Change
	// Expired are the entries whose change still exists and whose last day has passed.
	Expired []Entry
	// Stale are the entries whose change no longer exists.
	Stale []Entry
	// Problems are entries with a mistyped fingerprint or a wrong rule.
	Problems []Problem
}

// Apply marks the changes that entries accept on the day today (2006-01-02, in UTC). An entry
// whose fingerprint differs from a change's in only a few digits is a Problem and not stale.
func Apply(changes []diff.Change, entries []Entry, today string) Result {
	result := Result{Changes: slices.Clone(changes)}
	fingerprints := make([]string, len(changes))
	for i, c := range changes {
		fingerprints[i] = c.Fingerprint
	}
	for _, e := range entries {
		i := slices.Index(fingerprints, e.Fingerprint)
		switch {
		case i < 0:
			near := findMistyped(e.Fingerprint, fingerprints)
			if near == "" {
				result.Stale = append(result.Stale, e)
				continue
			}
			text := fmt.Sprintf("no change has the fingerprint %q; did you mean %s?", e.Fingerprint, near)
			result.Problems = append(result.Problems, Problem{e.fingerprintPlace, text})
		case e.Rule != "" && e.Rule != changes[i].Rule:
			text := fmt.Sprintf("the change %s is of the rule %s, not %s", e.Fingerprint, changes[i].Rule, e.Rule)
			result.Problems = append(result.Problems, Problem{e.rulePlace, text})
		case today > e.Until:
			result.Expired = append(result.Expired, e)
		default:
			result.Changes[i].Accepted = e.Reason
			result.Changes[i].Until = e.Until
		}
	}
	return result
}

// maxMistyped is the maximum number of wrong digits in a mistyped fingerprint.
const maxMistyped = 3

// findMistyped returns the known fingerprint that differs from typed in at most maxMistyped digits,
// or "".
func findMistyped(typed string, known []string) string {
	for _, fingerprint := range known {
		if len(fingerprint) != len(typed) {
			continue
		}
		wrong := 0
		for i := range len(typed) {
			if fingerprint[i] != typed[i] {
				wrong++
			}
		}
		if wrong <= maxMistyped {
			return fingerprint
		}
	}
	return ""
}

// Append returns the bytes to append to a file with the content text, so that it accepts the
// changes for a reason until a day (2006-01-02). It skips changes that are already accepted. text
// is empty for a new file.
func Append(text []byte, changes []diff.Change, reason, until string) ([]byte, error) {
	var appended []byte
	for _, c := range changes {
		if c.Accepted != "" {
			continue
		}
		item := jsonraw.Append(json.RawMessage("{}"),
			jsonraw.Member{Name: "fingerprint", Value: jsonraw.Quote(c.Fingerprint)},
			jsonraw.Member{Name: "rule", Value: jsonraw.Quote(c.Rule)},
			jsonraw.Member{Name: "subject", Value: jsonraw.Quote(c.Subject.String())},
			jsonraw.Member{Name: "reason", Value: jsonraw.Quote(reason)},
			jsonraw.Member{Name: "until", Value: jsonraw.Quote(until)})
		current := slices.Concat(text, appended) // the file with the changes before this one
		doc, err := yaml.Parse(current)
		hasNoList := err == nil && jsonraw.First(doc.JSON, "accept") == nil
		if hasNoList { // the first change brings the list; the next ones are appended to it
			list, err := yaml.Write(jsonraw.With(nil, "accept", jsonraw.List([]json.RawMessage{item})))
			if err != nil {
				return nil, err
			}
			if len(current) > 0 && current[len(current)-1] != '\n' {
				appended = append(appended, '\n')
			}
			appended = append(appended, list...)
			continue
		}
		next, err := yaml.Appended(current, "accept", item)
		if err != nil {
			return nil, err
		}
		appended = append(appended, next...)
	}
	return appended, nil
}
