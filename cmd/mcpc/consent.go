package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpc/internal/render"
	"mcpc/internal/shellwords"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// What stands in a file of another program was written by that program, or came with a
// project that somebody else wrote. It is run, or a project's URL spoken to, once a
// person has seen all of it and said yes; what was confirmed is remembered by a hash,
// and whatever is changed in it asks again.

// A standing is what the user said of a server before.
type standing int

const (
	unseen standing = iota
	changed
	confirmed
)

// standingOf looks it up among what is remembered.
func standingOf(trusts []state.Trust, s target.Server) standing {
	found, print := unseen, s.Fingerprint()
	for _, t := range trusts {
		switch {
		case t.Tool != "":
		case t.Fingerprint == print:
			return confirmed
		case t.Server == s.ID() && t.File == s.File:
			found = changed
		}
	}
	return found
}

// asksFirst reports a server that nothing is done with before it is confirmed: a
// command, and what a project brings. What the user's own files say of a URL, header
// fields included, is what he told that program to send there.
func asksFirst(s target.Server, now standing) bool {
	return now != confirmed && (s.Kind == target.Stdio || s.Client.Project || now == changed)
}

// trusts are those that are remembered. What cannot be read confirms nothing.
func (a *env) trusts(store *state.Store) []state.Trust {
	if store == nil {
		return nil
	}
	all, err := store.Trusts()
	if err != nil {
		a.ui.warn("the stored approvals cannot be read: " + err.Error())
	}
	return all
}

// consented asks, where that is needed, whether the server may be used.
func (c *conversation) consented(ctx context.Context) wire.Outcome {
	s := *c.origin
	if s.Problem != "" {
		return usage(hinted(fmt.Sprintf("%s cannot be used: %s", s.ID(), s.Problem), wire.Run("servers "+shellwords.Quote(s.ID()))+" shows its entry"))
	}
	now := standingOf(c.a.trusts(c.store), s)
	c.trusted = now == confirmed
	if !asksFirst(s, now) {
		return wire.Outcome{}
	}
	what := "is not trusted yet"
	if now == changed {
		what = "changed since it was approved"
	}
	refused := wire.Outcome{Kind: wire.Refused, Where: s.ID(), Phase: "arguments", Text: fmt.Sprintf("server %q from %s %s", s.Name, c.a.tilde(s.File), what),
		Hint: wire.Run("trust "+shellwords.Quote(s.ID())) + " shows and approves it"}
	c.a.ui.showServer(fmt.Sprintf("server %q from %s %s:", s.Name, s.Client.Title, what), s)
	if !c.a.ui.interactive() {
		return refused
	}
	question := "Connect to it?"
	if s.Kind == target.Stdio {
		question = "Run it?"
	}
	switch c.a.ui.askAlways(ctx, question, "/always for exactly this") {
	case "always":
		c.trusted = true
		if err := c.a.trust(ctx, c.store, s); err != nil {
			c.a.ui.warn("it could not be stored: " + err.Error())
		}
	case "yes":
	default:
		if ctx.Err() != nil {
			return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
		}
		refused.Text, refused.Hint = "the server was not approved", ""
		return refused
	}
	return wire.Outcome{}
}

// trust remembers a server as it now is.
func (a *env) trust(ctx context.Context, store *state.Store, s target.Server) error {
	if store == nil {
		_, err := state.Open(a.state)
		return err
	}
	return store.SaveTrust(ctx, state.Trust{Fingerprint: s.Fingerprint(), Server: s.ID(), File: s.File, At: a.now()})
}

// askAlways puts a question to which the answer is no unless it is yes or, where that is
// offered, always.
func (a *app) askAlways(ctx context.Context, question, always string) string {
	fmt.Fprintf(a.stderr(), "%s ", a.errStyle.Asked(question+" [y/N"+always+"]"))
	line, err := a.typist.line(ctx)
	if ctx.Err() != nil || err != nil {
		fmt.Fprintln(a.stderr())
		return "no"
	}
	a.progress.Newline()
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return "yes"
	case "a", "always":
		return "always"
	}
	return "no"
}

// showServer shows what has to be confirmed of a server.
func (a *app) showServer(headline string, s target.Server) {
	fmt.Fprintln(a.stderr(), a.errStyle.Asked(headline))
	_ = a.writeServer(a.stderr(), a.errStyle, s)
}

// writeServer shows all that is confirmed: the command word for word, the names of
// variables and header fields, and where it stands. Nothing is cut, and no value that
// may be a secret is among it.
func (a *app) writeServer(w io.Writer, st render.Style, s target.Server) error {
	return render.Facts(w, st, a.serverFacts(s))
}

func (a *env) serverFacts(s target.Server) (rows [][]string) {
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	add("command", strings.Join(mapped(a.secrets.Command(s.Command), shownWord), " "))
	add("url", a.secrets.Text(wire.RedactURL(s.URL)))
	add("directory", folderOf(s))
	add("environment", strings.Join(append(target.Names(s.Env), s.Passed...), ", "))
	add("variables from", s.EnvFile)
	add("header fields", strings.Join(target.Names(s.Headers), ", "))
	add("uses", strings.Join(s.Variables(), ", "))
	add("config file", s.File)
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

// shownWord is a word of a command, quoted, in which a long gap is counted: what
// stands behind it must be seen.
func shownWord(word string) string {
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
