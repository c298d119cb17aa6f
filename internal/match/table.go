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

// A Part is the member of a message in which a path begins.
type Part string

// The parts of a message. Params are the params of a request or a notification.
const (
	Params Part = "params"
	Result Part = "result"
	Error  Part = "error"
)

var parts = []string{string(Params), string(Result), string(Error)}

// A volatile is one line of volatile.txt.
type volatile struct {
	part    Part
	methods []string // nil for all
	// from and to are revisions by their index, the last included.
	from, to       int
	path           jsonvalue.Path
	action, source string
}

type volatileTable struct {
	revisions, methods []string
	rows               []volatile
}

// table parses volatile.txt at the first call.
var table = sync.OnceValue(func() *volatileTable { return readTable(volatileText) })

// readTable parses volatile.txt. The file is embedded, so that tests find its errors.
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
			t.rows = append(t.rows, t.row(words))
		}
	}
	return t
}

func (t *volatileTable) row(words []string) volatile {
	path, err := jsonvalue.ParsePath(words[3])
	if err != nil || len(words) != 6 || !slices.Contains(parts, words[0]) {
		panic("volatile.txt: " + strings.Join(words, " "))
	}
	v := volatile{part: Part(words[0]), to: len(t.revisions) - 1, path: path, action: words[4], source: words[5]}
	if words[1] != "*" {
		v.methods = strings.Split(words[1], ",")
	}
	first, last, ranged := strings.Cut(words[2], "..")
	if first != "all" && first != "" {
		v.from = t.number(first)
	}
	if ranged && last != "" {
		v.to = t.number(last)
	}
	return v
}

func (t *volatileTable) number(revision string) int {
	n := slices.Index(t.revisions, revision)
	if n < 0 {
		panic("volatile.txt: unknown revision " + revision)
	}
	return n
}

// in reports whether a row applies to a revision. All rows apply to a revision that the table does
// not have, such as "".
func (v *volatile) in(revision string) bool {
	n := slices.Index(table().revisions, revision)
	return n < 0 || v.from <= n && n <= v.to
}

func (v *volatile) about(part Part, method string) bool {
	return v.part == part && (v.methods == nil || slices.Contains(v.methods, method))
}

// NameOf returns the name in the params that identifies a request of this method, such as the name
// of a tool, or "".
func NameOf(method string, params json.RawMessage) string {
	for _, v := range table().rows {
		if v.action == "name" && v.about(Params, method) {
			name, _ := jsonraw.Text(jsonraw.First(params, v.path[0].Name))
			return name
		}
	}
	return ""
}
