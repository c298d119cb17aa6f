package saved

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// secrets refuses a file that holds any: it lies in git, and is read by many. What a
// field, a flag or a part of a URL is named like decides, and everywhere else what
// looks like a well-known token.
func (r *reader) secrets(f File) {
	for _, h := range f.Headers {
		if redact.RedactField(h).Value != h.Value && !onlyReferences(h) {
			r.secret(jsonraw.Pointer("/headers", h.Name))
		}
	}
	if holdsSecret(withoutReferences(f.Server)) {
		r.secret("/server")
	}
	var words []string
	for _, word := range f.Command {
		words = append(words, withoutReferences(word))
	}
	for i, word := range redact.RedactCommand(words) {
		if words[i] != "" && word != words[i] {
			r.secret("/command/" + strconv.Itoa(i))
		}
	}
	for _, v := range f.Vars {
		r.secretsIn(v.Name, v.Value, jsonraw.Pointer("/vars", v.Name))
	}
	if f.Answer != nil {
		r.secretsIn("", f.Answer, "/answer")
	}
	for _, s := range f.Steps {
		if s.Args != nil {
			r.secretsIn("", s.Args, s.ArgsAt)
		}
		if s.Expect.Result != nil {
			r.secretsIn("", s.Expect.Result, s.Expect.ResultAt)
		}
	}
}

// secretsIn refuses what looks like a secret. What is only named like one may be test
// data, and is reported as a Mild problem.
func (r *reader) secretsIn(name string, raw json.RawMessage, at string) {
	eachText(name, raw, at, func(name, at, text string) {
		switch plain := withoutReferences(text); {
		case holdsSecret(plain):
			r.secret(at)
		case text == "" || text == Any || plain != text:
		case holdsSecret(string(jsonraw.With(nil, name, jsonraw.Quote(text)))):
			r.problems = append(r.problems, Problem{At: at, Mild: true,
				Text: fmt.Sprintf("%s is named like a secret; use the environment: ${env.NAME}", name)})
		}
	})
}

func (r *reader) secret(at string) {
	r.bad(at, "the file contains a secret; move it to the environment and write ${env.NAME}")
}

// userAlone is what stands before the host of a URL whose password was a reference.
var userAlone = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`//[^/?#@:\s]*:?@`) })

// withoutReferences is what a text says by itself.
func withoutReferences(text string) string {
	var b strings.Builder
	_ = eachPart(text, func(part string) { b.WriteString(part) }, func(string) {})
	if b.String() == text {
		return text
	}
	return userAlone().ReplaceAllString(b.String(), "//")
}

func holdsSecret(text string) bool {
	_, n := new(redact.Secrets).Bytes([]byte(text))
	return n > 0
}

// onlyReferences reports a field whose value is a variable, perhaps behind a scheme.
func onlyReferences(h wire.Field) bool {
	words := strings.Fields(h.Value)
	found := References(jsonraw.Quote(h.Value))
	for i, word := range words {
		if !slices.Contains(found, word) && (i > 0 || len(words) == 1) {
			return false
		}
	}
	return true
}
