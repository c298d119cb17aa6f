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

// secrets reports secrets in a file, because such files are stored in git. It judges by the names of
// fields, flags and parts of URLs, and by the form of well-known tokens.
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

// secretsIn reports texts in a value that look like a secret. A text that is only named like a
// secret may be test data, so it is a Mild problem.
func (r *reader) secretsIn(name string, raw json.RawMessage, at string) {
	eachText(name, raw, at, func(name, at, text string) {
		plain := withoutReferences(text)
		if holdsSecret(plain) {
			r.secret(at)
			return
		}
		if text == "" || text == Any || plain != text {
			return
		}
		if holdsSecret(string(jsonraw.With(nil, name, jsonraw.Quote(text)))) {
			r.problems = append(r.problems, Problem{
				At: at, Mild: true,
				Text: fmt.Sprintf("%s is named like a secret; use the environment: ${env.NAME}", name),
			})
		}
	})
}

// secret adds the problem of a secret.
func (r *reader) secret(at string) {
	r.bad(at, "the file contains a secret; move it to the environment and write ${env.NAME}")
}

// userAlone matches the user of a URL whose password was a reference.
var userAlone = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`//[^/?#@:\s]*:?@`) })

// withoutReferences returns a text without its references.
func withoutReferences(text string) string {
	var b strings.Builder
	_ = eachPart(text, func(part string) { b.WriteString(part) }, func(string) {})
	if b.String() == text {
		return text
	}
	return userAlone().ReplaceAllString(b.String(), "//")
}

// holdsSecret reports whether a text contains what looks like a secret.
func holdsSecret(text string) bool {
	_, n := new(redact.Secrets).Bytes([]byte(text))
	return n > 0
}

// onlyReferences reports whether a field's value consists of references, possibly after a scheme.
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
