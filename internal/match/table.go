package match

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
)

//go:embed volatile.txt
var volatileText string

// A Part is the member of a message that a path is relative to.
type Part string

// The parts of a message. Params are the params of a request or a notification.
const (
	Params Part = "params"
	Result Part = "result"
	Error  Part = "error"
)

// parts are the names of the parts.
var parts = []string{string(Params), string(Result), string(Error)}

// A volatile is one line of volatile.txt.
type volatile struct {
	part    Part
	methods []string // nil means all
	// from and to are the indexes of the first and the last revision.
	from, to       int
	path           jsonvalue.Path
	action, source string
}

// A volatileTable is the content of volatile.txt.
type volatileTable struct {
	revisions, methods []string
	rows               []volatile
}

// table returns the content of volatile.txt, which is parsed once.
var table = sync.OnceValue(func() *volatileTable { return readTable(volatileText) })

// readTable parses volatile.txt. It panics on errors: the file is embedded, so tests find them.
func readTable(text string) *volatileTable {
	t := &volatileTable{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case words[0] == "revisions":
			t.revisions = words[1:]
		case words[0] == "methods":
			t.methods = append(t.methods, words[1:]...)
		default:
			t.rows = append(t.rows, t.parseRow(words))
		}
	}
	return t
}

// parseRow parses the words of a row: part, methods, revisions, path, action and source. It panics on
// errors.
func (t *volatileTable) parseRow(words []string) volatile {
	path, err := jsonvalue.ParsePath(words[3])
	if err != nil || len(words) != 6 || !slices.Contains(parts, words[0]) {
		panic("volatile.txt: " + strings.Join(words, " "))
	}
	v := volatile{part: Part(words[0]), to: len(t.revisions) - 1, path: path, action: words[4], source: words[5]}
	if words[1] != "*" {
		v.methods = strings.Split(words[1], ",")
	}
	first, last, ranged := strings.Cut(words[2], "..") // one revision alone applies from there on
	if first != "all" && first != "" {
		v.from = t.revisionIndex(first)
	}
	if ranged && last != "" {
		v.to = t.revisionIndex(last)
	}
	return v
}

// revisionIndex returns the index of a revision. It panics if the revision is unknown.
func (t *volatileTable) revisionIndex(revision string) int {
	n := slices.Index(t.revisions, revision)
	if n < 0 {
		panic("volatile.txt: unknown revision " + revision)
	}
	return n
}

// appliesToRevision reports whether a row applies to a revision. Every row applies to an unknown
// revision, such as "".
func (v *volatile) appliesToRevision(revision string) bool {
	n := slices.Index(table().revisions, revision)
	return n < 0 || v.from <= n && n <= v.to
}

// appliesTo reports whether a row applies to a part of the messages of a method.
func (v *volatile) appliesTo(part Part, method string) bool {
	return v.part == part && (v.methods == nil || slices.Contains(v.methods, method))
}

// NameOf returns the name in the params that identifies a request of this method, such as the name
// of a tool, or "".
func NameOf(method string, params json.RawMessage) string {
	for _, v := range table().rows {
		if v.action == "name" && v.appliesTo(Params, method) {
			name, _ := jsonraw.Text(jsonraw.First(params, v.path[0].Name))
			return name
		}
	}
	return ""
}
