package host

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/state"
	"mcpc/internal/target"
)

// A configured server may have come with another author's project. mcpc runs its command, or
// contacts a project's URL, only after the user has seen all of it and agreed. What the user
// confirmed is stored as a hash, so that any change asks again.

// A Standing is whether the user has confirmed a server.
type Standing int

const (
	unseen Standing = iota
	Changed
	Confirmed
)

// StandingOf returns the standing of s according to the stored approvals. A server is Changed if
// only another form of it was approved.
func StandingOf(trusts []state.Trust, s target.Server) Standing {
	standing := unseen
	fingerprint := s.Fingerprint()
	for _, t := range trusts {
		if t.Tool != "" {
			continue // the approval of a tool
		}
		if t.Fingerprint == fingerprint {
			return Confirmed
		}
		if t.Server == s.ID() && t.File == s.File {
			standing = Changed // unless a later approval has this fingerprint
		}
	}
	return standing
}

// AsksFirst reports whether the user must confirm a server before it is used: a command, a server
// of a project, or a server that changed. A URL in the user's own files needs no confirmation.
func AsksFirst(s target.Server, standing Standing) bool {
	if standing == Confirmed {
		return false
	}
	return s.Kind == target.Stdio || s.Client.Project || standing == Changed
}

// Trusts returns the stored approvals. If they cannot be read, it warns and returns nil.
func (e *Env) Trusts(store *state.Store) []state.Trust {
	if store == nil {
		return nil
	}
	all, err := store.Trusts().All()
	if err != nil {
		e.WarnOfState("the stored approvals cannot be read: " + err.Error())
	}
	return all
}

// Trust stores the approval of a server as it is now.
func (e *Env) Trust(ctx context.Context, store *state.Store, s target.Server) error {
	if store == nil {
		_, err := state.Open(e.State) // the reason why there is no store
		return err
	}
	return store.Trusts().Save(ctx, state.Trust{Fingerprint: s.Fingerprint(), Server: s.ID(), File: s.File, At: e.Now()})
}

// ServerFacts returns what the user has to confirm about a server, without its secrets, as rows of
// a name and a value. It omits empty values.
func ServerFacts(e *Env, s target.Server) [][]string {
	var rows [][]string
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	words := sliceutil.Map(redact.ShownCommand(s.Command), func(word string) string {
		return ShownWord(e.Secrets.Text(word))
	})
	add("command", strings.Join(words, " "))
	add("url", e.Secrets.Text(redact.RedactURL(s.URL)))
	add("directory", commandFolder(s))
	add("environment", strings.Join(append(target.Names(s.Env), s.Passed...), ", "))
	add("variables from", s.EnvFile)
	add("header fields", strings.Join(target.Names(s.Headers), ", "))
	add("uses", strings.Join(s.Variables(), ", "))
	if s.Client.Name == target.CardClient.Name {
		add("card", s.File)
	} else {
		add("config file", s.File)
	}
	add("cannot be used", s.Problem)
	return rows
}

// commandFolder returns the folder where the server's command would run, or "" if s is a URL.
func commandFolder(s target.Server) string {
	if s.Kind != target.Stdio {
		return ""
	}
	beginsWithVariable := strings.HasPrefix(s.Cwd, "$") // its value may be an absolute path
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) && !beginsWithVariable {
		return filepath.Join(s.Folder, s.Cwd)
	}
	if s.Cwd != "" {
		return s.Cwd
	}
	if s.Client.Project {
		return s.Folder
	}
	return "the current directory"
}

// wideBlank is the minimum number of spaces in a gap that is counted: a wide gap could push the
// rest off the screen.
const wideBlank = 4

// ShownWord returns a word of a command, quoted for a shell, with each wide gap replaced by its length.
func ShownWord(word string) string {
	remaining := shellwords.Quote(word)
	var b strings.Builder
	for remaining != "" { // a gap, which may be empty, and the text up to the next one
		text := strings.TrimLeftFunc(remaining, isBlank)
		gap := remaining[:len(remaining)-len(text)]
		if n := utf8.RuneCountInString(gap); n >= wideBlank {
			fmt.Fprintf(&b, "⟨%d spaces⟩", n)
		} else {
			b.WriteString(gap)
		}
		end := strings.IndexFunc(text, isBlank)
		if end < 0 {
			end = len(text)
		}
		b.WriteString(text[:end])
		remaining = text[end:]
	}
	return b.String()
}

// isBlank reports whether a character takes space and shows nothing.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\u2800\u3164\u115f\u1160\uffa0", r)
}
