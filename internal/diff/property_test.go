package diff_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
)

// snapshots returns the snapshots of all golden pairs.
func snapshots(t testing.TB) (all [][2]diff.Snapshot, names []string) {
	t.Helper()
	names, _ = filepath.Glob(filepath.Join("testdata", "*.txtar"))
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, [2]diff.Snapshot{snapshot(archive.Files[0].Data), snapshot(archive.Files[1].Data)})
	}
	return all, names
}

func TestEqualSnapshotsHaveNoChanges(t *testing.T) {
	pairs, names := snapshots(t)
	for i, p := range pairs {
		for _, s := range p {
			if got := diff.Compare(s, s, options); len(got) > 0 {
				t.Errorf("%s: %s", names[i], lines(got))
			}
		}
	}
}

func TestCompareIsDeterministic(t *testing.T) {
	pairs, names := snapshots(t)
	for i, p := range pairs {
		if one, two := fmt.Sprint(diff.Compare(p[0], p[1], options)), fmt.Sprint(diff.Compare(p[0], p[1], options)); one != two {
			t.Errorf("%s: %s, then %s", names[i], one, two)
		}
	}
}

// shuffled gives JSON with the members of its objects in another order.
func shuffled(raw json.RawMessage, r *rand.Rand) json.RawMessage {
	if members, err := jsonraw.Object(raw); err == nil {
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		for i := range members {
			members[i].Value = shuffled(members[i].Value, r)
		}
		return jsonraw.Append(json.RawMessage("{}"), members...)
	}
	if items, err := jsonraw.Array(raw); err == nil {
		return jsonraw.ListOf(items, func(item json.RawMessage) json.RawMessage { return shuffled(item, r) })
	}
	return raw
}

// Another order of members is no change, and another order of a list is a harmless one.
func TestReorderingIsHarmless(t *testing.T) {
	pairs, names := snapshots(t)
	r := rand.New(rand.NewPCG(1, 2))
	for i, p := range pairs {
		for _, s := range p {
			other := s
			for _, list := range []*[]json.RawMessage{&other.Tools, &other.Prompts, &other.Resources, &other.Templates} {
				*list = slices.Clone(*list)
				for j := range *list {
					(*list)[j] = shuffled((*list)[j], r)
				}
			}
			if got := diff.Compare(s, other, options); len(got) > 0 {
				t.Errorf("%s: %s", names[i], lines(got))
			}
			if filepath.Base(names[i]) == "tool-added-2.txtar" {
				continue // of two tools of one name, the first counts
			}
			slices.Reverse(other.Tools)
			slices.Reverse(other.Prompts)
			for _, c := range diff.Compare(s, other, options) {
				if c.Level != diff.Harmless {
					t.Errorf("%s: %s", names[i], lines([]diff.Change{c}))
				}
			}
		}
	}
}

// opposite is the rule that a change has when the two snapshots are swapped; several if a rule has
// several opposites, and the rule itself if it has no opposite.
var opposite = map[string][]string{
	"entry-unreadable": {"entry-dropped"}, "entry-dropped": {"entry-unreadable"},
	"argument-added": {"argument-removed", "argument-removed-closed"}, "argument-required-added": {"argument-removed", "argument-removed-closed"},
	"argument-removed": {"argument-added", "argument-required-added"}, "argument-removed-closed": {"argument-added", "argument-required-added"},
	"argument-required": {"argument-optional"}, "argument-optional": {"argument-required"},
	"output-member-added": {"output-member-removed"}, "output-member-added-closed": {"output-member-removed"},
	"output-member-removed":  {"output-member-added", "output-member-added-closed"},
	"output-member-required": {"output-member-optional"}, "output-member-optional": {"output-member-required"},
	"annotation-riskier": {"annotation-safer"}, "annotation-safer": {"annotation-riskier"},
	"task-support-required": {"task-support-changed"}, "dialect-standard": {"dialect-changed", "dialect-standard"}, "dialect-changed": {"dialect-standard"},
	"capability-added": {"capability-removed", "capability-experimental-removed"}, "capability-experimental-removed": {"capability-added"},
	"ttl-shortened": {"ttl-lengthened"}, "ttl-lengthened": {"ttl-shortened"},
}

var turned = strings.NewReplacer("-added", "-removed", "-removed", "-added", "-tightened", "-loosened", "-loosened", "-tightened",
	"-narrowed", "-widened", "-widened", "-narrowed", "-closed", "-opened", "-opened", "-closed")

func opposites(rule string) []string {
	if all := opposite[rule]; all != nil {
		return all
	}
	return []string{turned.Replace(rule)}
}

// Swapping the snapshots makes additions of removals, at the same places. Signs of poisoning
// are only looked for in what is new.
func TestSwappedSnapshots(t *testing.T) {
	pairs, names := snapshots(t)
	for i, p := range pairs {
		signs := func(c diff.Change) bool { return strings.HasPrefix(c.Rule, "poison-") }
		there := slices.DeleteFunc(diff.Compare(p[0], p[1], options), signs)
		back := slices.DeleteFunc(diff.Compare(p[1], p[0], options), signs)
		if len(there) != len(back) {
			t.Errorf("%s: there\n%sand back\n%s", names[i], lines(there), lines(back))
			continue
		}
		for _, c := range there {
			if !slices.ContainsFunc(back, func(o diff.Change) bool {
				return slices.Contains(opposites(c.Rule), o.Rule) && o.Subject.Kind == c.Subject.Kind
			}) {
				t.Errorf("%s: there\n%sand back\n%s", names[i], lines(there), lines(back))
			}
		}
	}
}

// A definition that is other JSON has at least one change, wherever it differs.
func TestEachDifferenceIsReported(t *testing.T) {
	const tool = `{"name":"a","title":"A","description":"Adds.","inputSchema":{"type":"object","properties":{"x":{"type":"integer","minimum":1,"enum":[1,2],
		"anyOf":[{"type":"string"},{"const":null}]},"y":{"type":"array","items":{"type":"string","format":"uri","pattern":"a"},"uniqueItems":true}},
		"required":["x"],"additionalProperties":false,"if":{"required":["x"]},"$defs":{"z":{"type":"null"}}},"outputSchema":{"type":"object","oneOf":[{"required":["q"]},{"properties":{"q":{"default":1}}}]},
		"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"optional"},"icons":[],"_meta":{"k":[1,{"l":2}]},"other":{"m":1}}`
	for _, changed := range changedEverywhere(json.RawMessage(tool), 0) {
		if jsonraw.First(changed, "name") == nil || string(jsonraw.Canonical(changed)) == string(jsonraw.Canonical([]byte(tool))) {
			continue
		}
		if got := diff.CompareTool([]byte(tool), changed, options); len(got) == 0 {
			t.Errorf("no change: %s", changed)
		}
		if got := diff.CompareTool(changed, []byte(tool), options); len(got) == 0 {
			t.Errorf("no change back: %s", changed)
		}
	}
}

// changedEverywhere gives copies of a value with one thing changed: each member and item left
// out, and each replaced by a few others.
func changedEverywhere(raw json.RawMessage, depth int) (all []json.RawMessage) {
	if depth > 0 {
		for _, v := range []string{"null", "7", `"b"`, "{}", "[]", "true"} {
			all = append(all, json.RawMessage(v))
		}
	}
	members, _ := jsonraw.Object(raw)
	for _, m := range members {
		all = append(all, jsonraw.Without(raw, m.Name))
		for _, v := range changedEverywhere(m.Value, depth+1) {
			all = append(all, jsonraw.With(raw, m.Name, v))
		}
	}
	items, _ := jsonraw.Array(raw)
	for i, item := range items {
		all = append(all, jsonraw.List(slices.Delete(slices.Clone(items), i, i+1)))
		for _, v := range changedEverywhere(item, depth+1) {
			other := slices.Clone(items)
			other[i] = v
			all = append(all, jsonraw.List(other))
		}
	}
	return all
}

// A fingerprint depends on the change, and not on the rest: it stays the same when other tools move
// or are added, and another value has a different fingerprint.
func TestFingerprints(t *testing.T) {
	tool := func(name string, least int) string {
		return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{"n":{"type":"integer","minimum":%d}}}}`, name, least)
	}
	print := func(a, b string) (all []string) {
		for _, c := range diff.Compare(snapshot([]byte(`{"tools":[`+a+`]}`)), snapshot([]byte(`{"tools":[`+b+`]}`)), options) {
			if c.Subject.Name == "a" {
				all = append(all, c.Fingerprint)
			}
		}
		return all
	}
	one := print(tool("a", 1), tool("a", 2))
	if len(one) != 1 || len(one[0]) != 16 {
		t.Fatalf("got %q", one)
	}
	if other := print(tool("a", 1)+","+tool("b", 1), tool("c", 5)+","+tool("b", 3)+","+tool("a", 2)); !slices.Equal(one, other) {
		t.Errorf("got %q and %q", one, other)
	}
	if other := print(tool("a", 1), tool("a", 3)); slices.Equal(one, other) {
		t.Errorf("another value has the same fingerprint %q", other)
	}
}

func many(n, changed int) diff.Snapshot {
	s := diff.Snapshot{}
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, `{"name":"tool_%d","description":"Does the work number %d, with several words that say how.","inputSchema":{"type":"object","properties":{`, i, i)
		for j := range 12 {
			least := 1
			if j == 0 && i < changed {
				least = 2
			}
			fmt.Fprintf(&b, `"p%d":{"anyOf":[{"$ref":"#/$defs/D%d"},{"type":"null"}],"description":"The parameter %d of it."},"q%d":{"type":"integer","minimum":%d},`, j, j, j, j, least)
		}
		b.WriteString(`"z":true},"$defs":{`)
		for j := range 12 {
			fmt.Fprintf(&b, `"D%d":{"type":"object","properties":{"a":{"type":"string","maxLength":9},"b":{"type":"array","items":{"type":"string"}}},"required":["a"]},`, j)
		}
		b.WriteString(`"E":true},"required":["q1"]}}`)
		s.Tools = append(s.Tools, json.RawMessage(b.String()))
	}
	return s
}

// 500 tools against 500 have to take less than a second (NEXT.md, section 4).
func BenchmarkCompare500(b *testing.B) {
	x, y := many(500, 0), many(500, 500)
	for b.Loop() {
		if n := len(diff.Compare(x, y, options)); n != 500 {
			b.Fatalf("%d changes", n)
		}
	}
}

// The same without a clock: signs are looked for once in each text, and no form is tried more
// than it has to be.
func TestFewOperationsFor500Tools(t *testing.T) {
	texts, compiled, checked := 0, 0, 0
	counting := diff.Options{
		Signs: func(string) []string { texts++; return nil },
		Compile: func(schema []byte) (func([]byte) (bool, error), error) {
			compiled++
			accepts, err := compile(schema)
			return func(v []byte) (bool, error) { checked++; return accepts(v) }, err
		},
	}
	if n := len(diff.Compare(many(500, 0), many(500, 500), counting)); n != 500 {
		t.Errorf("%d changes", n)
	}
	if texts > 200_000 || compiled > 600 || checked > 120_000 {
		t.Errorf("%d texts, %d schemas, %d values", texts, compiled, checked)
	}
	texts = 0
	if n := len(diff.Compare(many(500, 0), many(500, 0), counting)); n != 0 || texts != 0 {
		t.Errorf("%d changes and %d texts of what is the same", n, texts)
	}
	if n := len(diff.Compare(many(500, 0), diff.Snapshot{Tools: []json.RawMessage{}}, counting)); n != 500 {
		t.Errorf("%d changes", n)
	}
}

// FuzzCompare gives any bytes as definitions: nothing panics, and each change has its rule,
// its text and its fingerprint.
func FuzzCompare(f *testing.F) {
	pairs, _ := snapshots(f)
	for _, p := range pairs {
		if len(p[0].Tools) > 0 && len(p[1].Tools) > 0 {
			f.Add([]byte(p[0].Tools[0]), []byte(p[1].Tools[0]))
		}
	}
	f.Add([]byte(`{"name":"a","inputSchema":{"$ref":"#"}}`), []byte(`{"name":"a","inputSchema":{"allOf":[{"$ref":"#/allOf/0"}]}}`))
	f.Add([]byte(`{"name":"a","arguments":{},"annotations":[],"execution":1}`), []byte(`{"name":"a","name":"b","annotations":{"readOnlyHint":1}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		list := func(raw []byte) diff.Snapshot {
			one := []json.RawMessage{raw}
			return diff.Snapshot{Implementation: raw, Capabilities: raw, Instructions: raw, Tools: one, Prompts: one, Resources: one, Templates: one}
		}
		if got := diff.Compare(list(a), list(a), options); len(got) > 0 {
			t.Errorf("the same: %s", lines(got))
		}
		for _, c := range diff.Compare(list(a), list(b), options) {
			if _, known := diff.RuleOf(c.Rule); !known || c.Text == "" || len(c.Fingerprint) != 16 || strings.ContainsAny(c.Text, "\x1b\n\u202e") {
				t.Errorf("%+v", c)
			}
		}
	})
}
