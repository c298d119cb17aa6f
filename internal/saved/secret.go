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

// checkSecrets reports secrets in a file, because such files are stored in git. It judges by the
// names of fields, flags and parts of URLs, and by the form of well-known tokens.
func (r *reader) checkSecrets(f File) {
	for _, h := range f.Headers {
		if redact.RedactField(h).Value != h.Value && !hasOnlyReferences(h) {
			r.addSecretProblem(jsonraw.Pointer("/headers", h.Name))
		}
	}
	if hasSecret(withoutReferences(f.Server)) {
		r.addSecretProblem("/server")
	}
	var words []string
	for _, word := range f.Command {
		words = append(words, withoutReferences(word))
	}
	for i, word := range redact.RedactCommand(words) {
		if words[i] != "" && word != words[i] {
			r.addSecretProblem("/command/" + strconv.Itoa(i))
		}
	}
	for _, v := range f.Vars {
		r.checkValueForSecrets(v.Name, v.Value, jsonraw.Pointer("/vars", v.Name))
	}
	if f.Answer != nil {
		r.checkValueForSecrets("", f.Answer, "/answer")
	}
	for _, s := range f.Steps {
		if s.Args != nil {
			r.checkValueForSecrets("", s.Args, s.ArgsAt)
		}
		if s.Expect.Result != nil {
			r.checkValueForSecrets("", s.Expect.Result, s.Expect.ResultAt)
		}
	}
}

// checkValueForSecrets reports texts in a value that look like a secret. A text that is only named
// like a secret may be test data, so it is a Mild problem.
func (r *reader) checkValueForSecrets(name string, raw json.RawMessage, pointer string) {
	eachText(name, raw, pointer, func(name, pointer, text string) {
		plain := withoutReferences(text)
		if hasSecret(plain) {
			r.addSecretProblem(pointer)
			return
		}
		hasReference := plain != text
		if text == "" || text == Any || hasReference {
			return
		}
		if hasSecret(string(jsonraw.With(nil, name, jsonraw.Quote(text)))) {
			r.problems = append(r.problems, Problem{
				At: pointer, Mild: true,
				Text: fmt.Sprintf("%s is named like a secret; use the environment: ${env.NAME}", name),
			})
		}
	})
}

// addSecretProblem adds the problem of a secret.
func (r *reader) addSecretProblem(pointer string) {
	r.addProblem(pointer, "the file contains a secret; move it to the environment and write ${env.NAME}")
}

// userWithoutPassword matches the user of a URL whose password was a reference.
var userWithoutPassword = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`//[^/?#@:\s]*:?@`) })

// withoutReferences returns a text without its references.
func withoutReferences(text string) string {
	var b strings.Builder
	_ = eachPart(text, func(part string) { b.WriteString(part) }, func(string) {})
	if b.String() == text {
		return text
	}
	return userWithoutPassword().ReplaceAllString(b.String(), "//")
}

// hasSecret reports whether a text contains what looks like a secret.
func hasSecret(text string) bool {
	_, replacements := new(redact.Secrets).Bytes([]byte(text))
	return replacements > 0
}

// hasOnlyReferences reports whether a field's value consists of references, possibly after a scheme.
func hasOnlyReferences(h wire.Field) bool {
	words := strings.Fields(h.Value)
	references := References(jsonraw.Quote(h.Value))
	for i, word := range words {
		isScheme := i == 0 && len(words) > 1
		if !isScheme && !slices.Contains(references, word) {
			return false
		}
	}
	return true
}
