package accept

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/diff"
)

// changes has a removed and a changed tool.
func changes(t *testing.T) []diff.Change {
	t.Helper()
	tools := func(all ...string) (s diff.Snapshot) {
		for _, one := range all {
			s.Tools = append(s.Tools, json.RawMessage(one))
		}
		return s
	}
	all := diff.Compare(tools(`{"name":"a: \"b\"","inputSchema":{"type":"object"}}`, `{"name":"c","inputSchema":{"type":"object"}}`),
		tools(`{"name":"c","inputSchema":{"type":"object","required":["x"]}}`), diff.Options{})
	if len(all) != 2 || all[0].Rule != "tool-removed" || all[1].Rule != "argument-required-added" {
		t.Fatalf("got %+v", all)
	}
	return all
}

func TestProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"# nothing yet\n", ""},
		{"accept:\n", ""},
		{"accept: []\n", ""},
		{"accept:\n  - fingerprint: c123456789abcdef\n    reason: x\n    until: 2027-01-01\n", ""},
		{"accept:\n  - fingerprint: c123456789abcdef\n    rule: tool-remved\n    reason: x\n    until: 2027-01-01\n", `3:11: the rule "tool-remved" is not known; did you mean tool-removed?`},
		{"accept:\n  - fingerprint: c123456789abcdef\n    rule: zzz\n    reason: x\n    until: 2027-01-01\n", `3:11: the rule "zzz" is not known`},
		{"accept:\n  - fingerprint: C123456789ABCDEF\n    reason: x\n    until: 2027-01-01\n", `2:18: "C123456789ABCDEF" is not a fingerprint: those have a c and 15 hexadecimal digits`},
		{"accept:\n  - fingerprint: c123456789abcdef\n    reason: x\n    until: 31.12.2027\n", `4:12: until must be a date such as 2006-01-02, got "31.12.2027"`},
		{"accept:\n  - fingerprint: c123456789abcdef\n    reason: x\n    until: 2027-02-30\n", `4:12: until must be a date such as 2006-01-02, got "2027-02-30"`},
		{"accept:\n  - fingerprint: c123456789abcdef\n    until: 2027-01-01\n", `2:5: the entry has no reason`},
		{"accept:\n  - fingerprint: c123456789abcdef\n    reason: ' '\n    until: 2027-01-01\n", `3:13: the entry has no reason`},
		{"accept:\n  - fingerprnt: c123456789abcdef\n    reason: x\n    until: 2027-01-01\n", `2:5: the name "fingerprnt" is not known; did you mean fingerprint?` + "\n" + `2:5: the entry has no fingerprint`},
		{"accept:\n  - x\n", `2:5: a mapping with fingerprint, rule, subject, reason, until is needed, got "x"`},
		{"accept: x\n", `1:9: accept must be a list, got "x"`},
		{"accept:\n  - fingerprint: x\n    rule: y\n    reason: z\n  - reason: z\n    until: 1\n", `2:5: the entry has no until` + "\n" + `2:18: "x" is not a fingerprint: those have a c and 15 hexadecimal digits` + "\n" +
			`3:11: the rule "y" is not known` + "\n" + `5:5: the entry has no fingerprint` + "\n" + `6:12: until is a text, got 1`},
		{"accept:\n  - fingerprint: cafe\n    reason: x\n    until: 2027-01-01\n", `2:18: "cafe" is not a fingerprint: those have a c and 15 hexadecimal digits`},
		{"accept:\n  - fingerprint: c12345678901234g\n    reason: x\n    until: 2027-01-01\n", `2:18: "c12345678901234g" is not a fingerprint: those have a c and 15 hexadecimal digits`},
		{"acept: []\n", `1:1: the name "acept" is not known; did you mean accept?`},
		{"- x\n", `1:1: a mapping with accept is needed, got ["x"]`},
		{"accept: [\n", `1:1: did not find expected node content`},
		{"accept:\n  - reason: [x]\n    fingerprint: c123456789abcdef\n    until: 2027-01-01\n", `2:13: reason is a text, got ["x"]`},
	} {
		_, problems := Parse([]byte(c.text))
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, strings.Join(got, "\n"), c.want)
		}
	}
}

func TestApply(t *testing.T) {
	all := changes(t)
	one := Entry{Fingerprint: all[0].Fingerprint, Rule: "tool-removed", Reason: "moved", Until: "2027-01-31"}
	with := func(change func(e *Entry)) []Entry {
		e := one
		change(&e)
		return []Entry{e}
	}
	for _, c := range []struct {
		name                                      string
		entries                                   []Entry
		today                                     string
		failing, expired, stale, problems, accept int
	}{
		{"none", nil, "2027-01-01", 2, 0, 0, 0, 0},
		{"accepted", []Entry{one}, "2027-01-01", 1, 0, 0, 0, 1},
		{"the last day", []Entry{one}, "2027-01-31", 1, 0, 0, 0, 1},
		{"the day after", []Entry{one}, "2027-02-01", 2, 1, 0, 0, 0},
		{"without a rule", with(func(e *Entry) { e.Rule = "" }), "2027-01-01", 1, 0, 0, 0, 1},
		{"another rule", with(func(e *Entry) { e.Rule = "tool-added" }), "2027-01-01", 2, 0, 0, 1, 0},
		{"stale", with(func(e *Entry) { e.Fingerprint = "c000000000000000" }), "2027-01-01", 2, 0, 1, 0, 0},
		{"mistyped", with(func(e *Entry) { e.Fingerprint = e.Fingerprint[:15] + "x" }), "2027-01-01", 2, 0, 0, 1, 0},
	} {
		got := Apply(all, c.entries, c.today)
		accepted := len(slices.DeleteFunc(slices.Clone(got.Changes), func(c diff.Change) bool { return c.Accepted == "" }))
		if diff.Failing(got.Changes, diff.Breaking) != c.failing || len(got.Expired) != c.expired || len(got.Stale) != c.stale || len(got.Problems) != c.problems || accepted != c.accept {
			t.Errorf("%s: got %+v", c.name, got)
		}
		if all[0].Accepted != "" {
			t.Fatal("the changes that were given are changed")
		}
	}
}

// Appended entries are read again, and accept the changes; the existing text stays.
func TestAppend(t *testing.T) {
	all := changes(t)
	for _, before := range []string{"", "# ours\n", "accept:\n", "# ours\naccept:\n  # one\n  - fingerprint: c000000000000000\n    reason: old\n    until: 2027-01-01"} {
		more, err := Append([]byte(before), all, "known: \"x\"", "2027-03-31")
		if before == "accept:\n" {
			if err == nil {
				t.Error("a list that is not there was appended to")
			}
			continue
		}
		entries, problems := Parse([]byte(before + string(more)))
		result := Apply(all, entries, "2027-03-31")
		if err != nil || problems != nil || diff.Failing(result.Changes, diff.Harmless) != 0 || result.Changes[0].Accepted != `known: "x"` {
			t.Errorf("%q: %v %v\n%s", before, err, problems, more)
		}
		if again, err := Append([]byte(before+string(more)), result.Changes, "y", "2027-03-31"); err != nil || len(again) > 0 {
			t.Errorf("accepted changes were written again: %q %v", again, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("accept:\n  - fingerprint: c123456789abcdef\n    rule: tool-removed\n    reason: x\n    until: 2027-01-01\n"))
	f.Add([]byte("accept: [{reason: [x]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, problems := Parse(text)
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Text == "" {
				t.Errorf("%q: %+v", text, p)
			}
		}
		if len(problems) == 0 {
			Apply(nil, entries, "2027-01-01")
		}
	})
}
