package lint

import (
	"fmt"
	"strings"
	"testing"

	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// judgedList judges a list with a tool of a name, as it was sent or, with hidden, as a recording has it.
func judgedList(name string, hidden int, hide func(raw []byte) []byte) Report {
	l := New(Options{Hide: hide})
	l.Tap(wire.Frame{Seq: 1, Dir: wire.Sent, Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)})
	l.Tap(wire.Frame{Seq: 2, Dir: wire.Received, Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`)})
	l.Tap(wire.Frame{Seq: 3, Dir: wire.Sent, Kind: wire.Body, Raw: []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)})
	l.Tap(wire.Frame{
		Seq: 4, Dir: wire.Received, Kind: wire.Body, Hidden: hidden,
		Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"%s","description":"d","inputSchema":{"type":"object"}}]}}`, name),
	})
	l.Close()
	return l.Report()
}

func verdictOn(r Report, rule string) Judgement {
	for _, j := range r.Judgements {
		if j.ID == rule {
			return j
		}
	}
	return Judgement{}
}

// TestHiddenPlacesAreNoFindings judges a name that no tool may have: in a recording it is not known.
func TestHiddenPlacesAreNoFindings(t *testing.T) {
	for _, rule := range []string{"L113", "hosts-core"} {
		if j := verdictOn(judgedList(redact.Redacted("postgres")+"_query", 1, nil), rule); j.Verdict != NotRun || !strings.Contains(j.Why, "hidden") {
			t.Errorf("%s of a hidden name is %s: %s", rule, j.Verdict, j.Why)
		}
		if j := verdictOn(judgedList("a bad name", 0, nil), rule); j.Verdict == Pass || j.Verdict == NotRun {
			t.Errorf("%s of a bad name is %s", rule, j.Verdict)
		}
		if j := verdictOn(judgedList(redact.Redacted("postgres"), 0, func(raw []byte) []byte { return raw }), rule); j.Verdict == Pass || j.Verdict == NotRun {
			t.Errorf("%s of a live name that looks hidden is %s", rule, j.Verdict)
		}
	}
}

// TestFindingsAreHiddenBeforeTheyAreCut judges a live server that repeats a secret at the end of what is quoted.
func TestFindingsAreHiddenBeforeTheyAreCut(t *testing.T) {
	const secret = "hunter2hunter2hunter2hunter2hunter2"
	s := new(redact.Secrets)
	s.Learn(secret)
	hide := func(raw []byte) []byte {
		safe, _ := s.Bytes(raw)
		return safe
	}
	for before := range 200 {
		for _, j := range judgedList(strings.Repeat("x ", before)+secret, 0, hide).Findings {
			for _, e := range j.Evidence {
				if strings.Contains(e.Got+e.Want, secret[:8]) {
					t.Fatalf("after %d characters: %s", 2*before, e.Got)
				}
			}
		}
	}
}
