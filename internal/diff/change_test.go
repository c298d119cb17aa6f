package diff_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/diff"
)

func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range diff.Rules {
		switch {
		case seen[r.ID] || r.Sentence == "" || strings.HasSuffix(r.Sentence, "."):
			t.Errorf("%s: twice, or no sentence", r.ID)
		case r.Level > diff.Harmless && r.Fix == "" || r.Level == diff.Harmless && r.Fix != "":
			t.Errorf("%s: what is not harmless has a fix", r.ID)
		case strings.HasPrefix(r.ID, "input-") && r.Direction != "input" || strings.HasPrefix(r.ID, "output-") && r.Direction != "output":
			t.Errorf("%s: direction %q", r.ID, r.Direction)
		}
		wantUse := diff.ShortValues
		if strings.HasPrefix(r.ID, "description-") || strings.HasPrefix(r.ID, "instructions-") {
			wantUse = diff.NoValues
		} else if strings.Contains(r.ID, "-enum-") || strings.Contains(r.ID, "-type-") {
			wantUse = diff.LongValues
		}
		if r.ValueUse() != wantUse {
			t.Errorf("%s: value use %d", r.ID, r.ValueUse())
		}
		seen[r.ID] = true
	}
	if r, ok := diff.RuleOf("tool-removed"); !ok || r.Level != diff.Breaking {
		t.Errorf("got %+v", r)
	}
	if _, ok := diff.RuleOf("tool-remved"); ok {
		t.Error("an unknown rule was found")
	}
	for i, word := range diff.Levels {
		if level, ok := diff.ParseLevel(word); !ok || int(level) != i || level.String() != word {
			t.Errorf("%s: got %v", word, level)
		}
	}
	if _, ok := diff.ParseLevel("none"); ok {
		t.Error("none is not a level")
	}
}

// The rules that no small pair breaks: a schema beyond the budget, and a sign of a kind that
// is not known.
func TestRulesWithoutSmallExample(t *testing.T) {
	wide := fmt.Sprintf(`{"allOf":[%s{"minimum":%%d}]}`, strings.Repeat(`{},`, 2000))
	tool := func(n int) json.RawMessage {
		s := fmt.Sprintf(wide, n)
		return json.RawMessage(`{"name":"a","inputSchema":` + s + `,"outputSchema":` + s + `}`)
	}
	got := lines(diff.CompareTool(tool(1), tool(2), options))
	if want := "risky input-too-complex, tool a /inputSchema: the schema of the object of arguments is too complex to compare: look at it\n" +
		"risky output-too-complex, tool a /outputSchema: the schema of the result is too complex to compare: look at it\n"; got != want {
		t.Errorf("got\n%s", got)
	}
	signs := diff.Options{Signs: func(text string) []string {
		if strings.Contains(text, "spell") {
			return []string{"magic the word spell", "hidden U+200B"}
		}
		return nil
	}}
	got = lines(diff.CompareTool([]byte(`{"name":"a","title":"x"}`), []byte(`{"name":"a","title":"spell","icons":["spell"]}`), signs))
	if want := "risky poison-hidden, tool a /title: the text has hidden characters: U+200B\nrisky poison-text, tool a /title: the text has a sign of poisoning: the word spell\n"; !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 4 {
		t.Errorf("got\n%s", got)
	}
}

// A text has a bounded number of signs, and each is reported once in a definition.
func TestSignsAreBounded(t *testing.T) {
	many := diff.Options{Signs: func(text string) (all []string) {
		for i := range 1000 {
			all = append(all, fmt.Sprintf("url https://%d.example", i/2))
		}
		return all
	}}
	if got := diff.CompareTool([]byte(`{"name":"a","title":"x"}`), []byte(`{"name":"a","title":"y","x":"z"}`), many); len(got) != 2 {
		t.Errorf("got %d changes: the signs were there before", len(got))
	}
	if got := diff.Compare(diff.Snapshot{Tools: []json.RawMessage{}}, diff.Snapshot{Tools: []json.RawMessage{[]byte(`{"name":"a"}`)}}, many); len(got) != 21 {
		t.Errorf("got %d changes, want the tool and 20 signs", len(got))
	}
}

func TestSections(t *testing.T) {
	var all []diff.Change
	pairs, _ := snapshots(t)
	for _, p := range pairs {
		all = append(all, diff.Compare(p[0], p[1], options)...)
	}
	n := 0
	for _, section := range diff.Sections {
		part := diff.Only(all, []string{section})
		if n += len(part); len(part) == 0 && section != "calls" {
			t.Errorf("no change in %s", section)
		}
	}
	if n != len(all) || len(diff.Only(all, nil)) != n {
		t.Errorf("%d of %d changes are in a section", n, len(all))
	}
	if got := diff.Only(all, []string{"tools", "prompts"}); !slices.ContainsFunc(got, func(c diff.Change) bool { return c.Rule == "order-changed" }) {
		t.Error("the order of tools is not in the section of tools")
	}
	for _, c := range diff.AsModel(all) {
		if c.Subject.Kind != diff.Tool && c.Subject.Kind != diff.Instructions || strings.HasPrefix(c.Pointer, "/outputSchema") || strings.HasPrefix(c.Pointer, "/annotations") {
			t.Errorf("a model does not get %s %s", c.Subject, c.Pointer)
		}
	}
	if len(diff.AsModel(all)) == 0 || diff.Failing(all, diff.Breaking) == 0 || diff.Failing(all, diff.Harmless) != len(all) {
		t.Error("nothing is left")
	}
	all[0].Accepted = "known"
	if diff.Failing(all, diff.Harmless) != len(all)-1 {
		t.Error("an accepted change fails")
	}
}

// The gravest changes come first, and the order does not depend on the order of the lists.
func TestOrderOfChanges(t *testing.T) {
	a := `{"tools":[{"name":"b"},{"name":"a"}],"prompts":[{"name":"b"}],"instructions":"x"}`
	b := `{"tools":[{"name":"c","x":1},{"name":"d"}],"prompts":[],"instructions":"y"}`
	var got []string
	for _, c := range diff.Compare(snapshot([]byte(a)), snapshot([]byte(b)), diff.Options{}) {
		got = append(got, c.Rule+" "+c.Subject.String())
	}
	if want := []string{"tool-removed tool a", "tool-removed tool b", "prompt-removed prompt b", "instructions-rewritten instructions", "tool-added tool c", "tool-added tool d"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The order of lists is compared only where both sides have the server's own.
func TestSortedListsHaveNoOrder(t *testing.T) {
	a, b := snapshot([]byte(`{"tools":[{"name":"a"},{"name":"b"}]}`)), snapshot([]byte(`{"tools":[{"name":"b"},{"name":"a"}]}`))
	for _, sorted := range [][2]bool{{true, false}, {false, true}, {true, true}} {
		a.Sorted, b.Sorted = sorted[0], sorted[1]
		if got := diff.Compare(a, b, options); len(got) > 0 {
			t.Errorf("%v: %s", sorted, lines(got))
		}
	}
}
