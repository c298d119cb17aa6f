package replay

import (
	"slices"
	"testing"

	"mcpc/internal/match"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/wire"
	"mcpc/internal/yaml"
)

// A tool is read-only if all lists of the recording mark it so.
func TestReadOnlyTools(t *testing.T) {
	t.Parallel()
	const yes, no, unmarked = `,"annotations":{"readOnlyHint":true}`, `,"annotations":{"readOnlyHint":false}`, ""
	for _, c := range []struct {
		name  string
		lists []string
		want  bool
	}{
		{"marked", []string{yes}, true},
		{"marked twice", []string{yes, yes}, true},
		{"unmarked", []string{unmarked}, false},
		{"marked before", []string{yes, no}, false},
		{"no longer marked", []string{yes, unmarked}, false},
		{"marked later", []string{unmarked, yes}, false},
		{"marked between", []string{no, yes, no}, false},
	} {
		s := &selection{readOnly: map[string]bool{}}
		for _, hints := range c.lists {
			s.recordTools(&wire.Exchange{Response: wire.Frame{Raw: []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` +
				`{"name":"x","inputSchema":{"type":"object"}` + hints + `}]}}`)}})
		}
		if s.readOnly["x"] != c.want {
			t.Errorf("%s: read-only %t", c.name, s.readOnly["x"])
		}
	}
}

// A matcher without a value is reported, unless it may be for an exchange that was left out.
func TestMatchersWithoutValueAreReported(t *testing.T) {
	t.Parallel()
	rule := func(line int, kind match.Kind) match.Rule {
		path, err := jsonvalue.ParsePath(".id")
		if err != nil {
			t.Fatal(err)
		}
		return match.Rule{Path: path, Matcher: match.Matcher{Kind: kind}, Place: yaml.Place{Line: line}}
	}
	rules := &match.Rules{Sections: []match.Section{
		{Method: "tools/call", Name: "x", Rules: []match.Rule{rule(3, match.Ignore), rule(4, match.Ignore)}},
		{Method: "*", Rules: []match.Rule{rule(0, match.Ignore), rule(0, match.Bound)}},
	}}
	met := map[*match.Rule]bool{&rules.Sections[0].Rules[1]: true}
	flags := []string{".id (--ignore)", ".id (--bind)"}
	all := append([]string{"tools/call x .id (m.yaml:3)"}, flags...)
	for _, c := range []struct {
		name string
		o    options
		want []string
	}{
		{"all exchanges", options{}, all},
		{"a filter", options{filterWords: []string{"name:y"}}, flags},
		{"--only", options{only: []string{"tools/list"}}, flags},
	} {
		c.o.match.file = "dir/m.yaml"
		if got := c.o.unmetMatchers(rules, met); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
