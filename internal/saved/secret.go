package saved

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/wire"
)

// secrets refuses a file that holds any: it lies in git, and is read by many. What a
// field, a flag or a part of a URL is named like decides, and everywhere else what
// looks like a well-known token.
func (r *reader) secrets(f File) {
	for _, h := range f.Headers {
		if wire.RedactField(h).Value != h.Value && !onlyReferences(h) {
			r.secret(below("/headers", h.Name))
		}
	}
	if holdsSecret(f.Server) && len(References(wire.Quote(f.Server))) == 0 {
		r.secret("/server")
	}
	for i, word := range wire.RedactCommand(f.Command) {
		if word != f.Command[i] && len(References(wire.Quote(f.Command[i]))) == 0 {
			r.secret("/command/" + strconv.Itoa(i))
		}
	}
	for _, v := range f.Vars {
		r.secretsIn(v.Name, v.Value, below("/vars", v.Name))
	}
	if f.Answer != nil {
		r.secretsIn("", f.Answer, "/answer")
	}
	for _, s := range f.Steps {
		if s.Args != nil {
			r.secretsIn("", s.Args, s.ArgsAt)
		}
	}
}

// secretsIn refuses what looks like a secret. What is only named like one may be a
// test's, and is told of.
func (r *reader) secretsIn(name string, raw json.RawMessage, at string) {
	eachTextOf(name, raw, at, func(name, at, text string) {
		switch {
		case text == "" || len(References(wire.Quote(text))) > 0:
		case holdsSecret(text):
			r.secret(at)
		case holdsSecret(string(wire.With(nil, name, wire.Quote(text)))):
			r.problems = append(r.problems, Problem{At: at, Mild: true,
				Text: fmt.Sprintf("%s is named like a secret; one belongs into the environment: ${env.NAME}", name)})
		}
	})
}

func (r *reader) secret(at string) {
	r.bad(at, "a secret stands in the file; put it into the environment and write ${env.NAME}")
}

func holdsSecret(text string) bool {
	_, n := new(wire.Secrets).Bytes([]byte(text))
	return n > 0
}

// onlyReferences reports a field whose value is a variable, perhaps behind a scheme.
func onlyReferences(h wire.Field) bool {
	words := strings.Fields(h.Value)
	found := References(wire.Quote(h.Value))
	for i, word := range words {
		if !slices.Contains(found, word) && (i > 0 || len(words) == 1) {
			return false
		}
	}
	return true
}
