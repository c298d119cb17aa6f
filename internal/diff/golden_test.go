package diff_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/poison"
	"mcpc/internal/validate"
)

var update = flag.Bool("update", false, "write the wanted changes of the golden pairs")

// compile is what a command injects.
func compile(schema []byte) (func(value []byte) (bool, error), error) {
	s, _, err := validate.Compile(schema)
	if err != nil {
		return nil, err
	}
	return func(value []byte) (bool, error) {
		found, err := s.Check(value)
		return len(found) == 0, err
	}, nil
}

var options = diff.Options{Compile: compile, Signs: poison.Signs}

// snapshot reads a snapshot of a test: an object with the members of a lock file, with the bare
// definitions in the lists.
func snapshot(raw []byte) diff.Snapshot {
	members, _ := jsonraw.Object(raw)
	list := func(name string) []json.RawMessage {
		items, err := jsonraw.Array(members.Value(name))
		if err == nil && items == nil {
			items = []json.RawMessage{}
		}
		return items
	}
	s := diff.Snapshot{
		Implementation: members.Value("serverInfo"), Capabilities: members.Value("capabilities"), Instructions: members.Value("instructions"),
		Tools: list("tools"), Prompts: list("prompts"), Resources: list("resources"), Templates: list("resourceTemplates"),
	}
	for _, item := range list("revisions") {
		text, _ := jsonraw.Text(item)
		s.Revisions = append(s.Revisions, text)
	}
	if asked := members.Value("authorization"); asked != nil {
		s.Authorization = new(string(asked) == "true")
	}
	ttl, _ := jsonraw.Object(members.Value("ttlMs"))
	for _, m := range ttl {
		if s.TTL == nil {
			s.TTL = map[string]int64{}
		}
		s.TTL[m.Name], _ = strconv.ParseInt(string(m.Value), 10, 64)
	}
	return s
}

func lines(changes []diff.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s, %s%s: %s\n", c.Level, c.Rule, c.Subject, strings.TrimSuffix(" "+c.Pointer, " "), c.Text)
	}
	return b.String()
}

// A golden pair is named after the rule that it is about, perhaps with a dash and a number. It
// breaks that rule and no other one, unless its comment says "also" and the others. A file
// whose name begins with "none-" changes nothing.
func TestGoldenPairs(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(names) < len(diff.Rules)-10 {
		t.Fatalf("%d golden pairs, %v", len(names), err)
	}
	covered := map[string]bool{}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil || len(archive.Files) < 2 {
			t.Fatal(name, err)
		}
		a, b := archive.Files[0].Data, archive.Files[1].Data
		for _, raw := range [][]byte{a, b} {
			if err := jsonraw.Valid(raw); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		changes := diff.Compare(snapshot(a), snapshot(b), options)
		got := lines(changes)
		if *update {
			archive.Files = append(archive.Files[:2], txtar.File{Name: "want", Data: []byte(got)})
			if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := string(archive.Files[2].Data); got != want {
			t.Errorf("%s:\ngot\n%swant\n%s", name, got, want)
		}
		about := strings.TrimRight(strings.TrimSuffix(filepath.Base(name), ".txtar"), "-0123456789")
		for _, c := range changes {
			if c.Rule == about {
				covered[about] = true
			} else if !strings.Contains(string(archive.Comment), "also") || !strings.Contains(string(archive.Comment), c.Rule) {
				t.Errorf("%s: breaks %s", name, c.Rule)
			}
		}
		if strings.HasPrefix(about, "none-") && len(changes) > 0 {
			t.Errorf("%s: got %s", name, got)
		}
	}
	for _, id := range diff.RuleIDs() {
		if !covered[id] && !strings.HasPrefix(id, "call-") && !slices.Contains([]string{"input-too-complex", "output-too-complex", "poison-text"}, id) {
			t.Errorf("no golden pair breaks %s", id)
		}
	}
}
