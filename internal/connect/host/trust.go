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

// A server in a file of another program was written by that program, or came with another
// author's project. Its command is run, or a project's URL contacted, once the user has
// seen all of it and said yes; what was confirmed is remembered by a hash, and any change
// to it asks again.

// A Standing is what the user said of a server before.
type Standing int

const (
	unseen Standing = iota
	Changed
	Confirmed
)

// StandingOf looks it up among what is remembered.
func StandingOf(trusts []state.Trust, s target.Server) Standing {
	found := unseen
	print := s.Fingerprint()
	for _, t := range trusts {
		switch {
		case t.Tool != "":
		case t.Fingerprint == print:
			return Confirmed
		case t.Server == s.ID() && t.File == s.File:
			found = Changed
		}
	}
	return found
}

// AsksFirst reports a server that nothing is done with before it is confirmed: a
// command, and what a project brings. What the user's own files say of a URL, header
// fields included, is what he told that program to send there.
func AsksFirst(s target.Server, now Standing) bool {
	return now != Confirmed && (s.Kind == target.Stdio || s.Client.Project || now == Changed)
}

// Trusts are those that are remembered. What cannot be read confirms nothing.
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

// Trust remembers a server as it now is.
func (e *Env) Trust(ctx context.Context, store *state.Store, s target.Server) error {
	if store == nil {
		_, err := state.Open(e.State)
		return err
	}
	return store.Trusts().Save(ctx, state.Trust{Fingerprint: s.Fingerprint(), Server: s.ID(), File: s.File, At: e.Now()})
}

func ServerFacts(e *Env, s target.Server) (rows [][]string) {
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	add("command", strings.Join(sliceutil.Map(e.Secrets.Command(s.Command), ShownWord), " "))
	add("url", e.Secrets.Text(redact.RedactURL(s.URL)))
	add("directory", folderOf(s))
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

// folderOf is where a command would run.
func folderOf(s target.Server) string {
	switch {
	case s.Kind != target.Stdio:
		return ""
	case s.Cwd != "" && !filepath.IsAbs(s.Cwd) && !strings.HasPrefix(s.Cwd, "$"):
		return filepath.Join(s.Folder, s.Cwd)
	case s.Cwd != "":
		return s.Cwd
	case s.Client.Project:
		return s.Folder
	}
	return "the current directory"
}

// wideBlank is how many blanks in a row could push the rest out of sight.
const wideBlank = 4

// ShownWord is a word of a command, quoted, in which a long gap is counted: what
// follows it must be seen.
func ShownWord(word string) string {
	quoted := shellwords.Quote(word)
	var b strings.Builder
	for quoted != "" {
		rest := strings.TrimLeftFunc(quoted, isBlank)
		gap := quoted[:len(quoted)-len(rest)]
		if n := utf8.RuneCountInString(gap); n >= wideBlank {
			fmt.Fprintf(&b, "⟨%d spaces⟩", n)
		} else {
			b.WriteString(gap)
		}
		end := strings.IndexFunc(rest, isBlank)
		if end < 0 {
			end = len(rest)
		}
		b.WriteString(rest[:end])
		quoted = rest[end:]
	}
	return b.String()
}

// isBlank reports a character that takes room and shows nothing.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("\u2800\u3164\u115f\u1160\uffa0", r)
}
