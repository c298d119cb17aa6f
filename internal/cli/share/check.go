package share

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"mcpc/internal/capture/bundle"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client/auth"
	"mcpc/internal/compress/packed"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/english"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/state"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// maxCheckedFile bounds the size of a checked file in bytes.
const maxCheckedFile = 1 << 30

// A leak is a secret in a file: its place and the reason why it is a secret. The output does not
// have its text.
type leak struct {
	// Member is the member of a bundle, "" in other files.
	Member string           `json:"member,omitempty"`
	Line   int              `json:"line"`
	Column int              `json:"column"`
	Length int              `json:"length"`
	Kind   redact.FoundKind `json:"kind"`
	From   string           `json:"from"`
	// text is the secret as it is written in the file.
	text string
}

// A checker searches files for secrets. sources has the source of each known value.
type checker struct {
	factory *cmdutil.Factory
	sources map[string]string
}

// CheckFile searches a file of any format for secrets and prints their places. It returns an error
// if it finds any.
func CheckFile(f *cmdutil.Factory, name string, strict bool) error {
	f.Secrets.Variables = true
	c := &checker{factory: f, sources: map[string]string{}}
	c.learnEnvironment()
	if err := c.learnState(); err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	leaks, err := c.findLeaksInFile(name, strict)
	if err != nil {
		return err
	}
	name = cmdutil.ShownFile(name)
	if f.Secrets.Withholds() {
		return cmdutil.Exit(
			wire.Outcome{Kind: wire.CheckFailed, Phase: "result", Text: name + " contains more secrets than mcpc can track"},
		)
	}
	if err := f.WriteOut(func(w io.Writer) error { return writeLeaks(w, f.JSON, name, leaks) }); err != nil {
		return f.WriteError("writing what was found", usage.Bare(err))
	}
	if len(leaks) == 0 {
		f.Note("no secret was found in " + term.Line(name))
		return nil
	}
	return cmdutil.Exit(
		wire.Outcome{
			Kind:  wire.CheckFailed,
			Phase: "result",
			Text:  fmt.Sprintf("%s contains %s", name, english.Plural(len(leaks), "secret")),
			Hint: "for a recording, " + wire.Run("export FILE --as jsonl") +
				" writes a copy without these secrets (--redact-file adds more)",
		},
	)
}

// findLeaksInFile returns the secrets in a file, or in each member of a bundle. A bundle is checked
// more strictly than a recording, because it leaves the machine. The name "-" is standard input.
func (c *checker) findLeaksInFile(name string, strict bool) (leaks []leak, err error) {
	if strict {
		c.factory.Secrets.Guess = redact.GuessStrict
	}
	if name != "-" {
		err = bundle.EachMember(name, func(member string, r io.Reader) error {
			c.factory.Secrets.Guess = levelOf(strict)
			found, err := c.findLeaksByLine(r, maxCheckedLine)
			for _, l := range found {
				l.Member = member
				leaks = append(leaks, l)
			}
			return err
		})
		if fault, ok := errors.AsType[*bundle.Error](err); ok {
			return nil, cmdutil.Exit(recorded.Unreadable(name, fault))
		}
		if err == nil {
			return dropDerived(leaks), nil
		}
		// Any other error means that the file is no bundle. It is then read as it is.
	}
	if strings.HasSuffix(name, packed.Extension) {
		return c.findLeaksInPacked(name)
	}
	var raw []byte
	if name == "-" {
		raw, err = host.ReadUpTo(c.factory.In, maxCheckedFile)
	} else {
		raw, err = c.factory.Env.ReadFile(name, maxCheckedFile)
	}
	if err != nil {
		return nil, usage.NotRead("--check "+name, err, "")
	}
	return c.findLeaks(raw), nil
}

// findLeaksInPacked returns the secrets in the text of a compressed recording.
func (c *checker) findLeaksInPacked(name string) (leaks []leak, err error) {
	f, err := rows.OpenLines(name)
	if err == nil {
		defer f.Close()
		leaks, err = c.findLeaksByLine(f, maxCheckedLine)
	}
	if err != nil {
		return nil, usage.NotRead("--check "+name, err, "")
	}
	return leaks, nil
}

// dropDerived drops the leaks in the report and the page of a bundle that other members have too: both
// are made from the other members.
func dropDerived(leaks []leak) []leak {
	isDerived := func(l leak) bool { return l.Member == bundle.ReportName || l.Member == bundle.PageName }
	elsewhere := map[string]bool{}
	for _, l := range leaks {
		if !isDerived(l) {
			elsewhere[l.text] = true
		}
	}
	return slices.DeleteFunc(leaks, func(l leak) bool { return isDerived(l) && elsewhere[l.text] })
}

const (
	// checkBatch is how many bytes of a member are checked at once, with the rest of their last
	// line.
	checkBatch = 1 << 20
	// maxCheckedLine is how many bytes of one line are checked at once. The last recheckedBytes of
	// these are checked again with the bytes that follow. Columns then count from there.
	maxCheckedLine = 64 << 20
	recheckedBytes = 64 << 10
)

// findLeaksByLine returns the secrets that r contains. It checks several lines at a time, or a part of
// one line if the line is longer than maxLine bytes.
func (c *checker) findLeaksByLine(r io.Reader, maxLine int) ([]leak, error) {
	var leaks []leak
	reader := bufio.NewReaderSize(r, 64<<10)
	var pending []byte // read, and not checked yet
	linesBefore := 0   // the number of lines before pending
	for {
		text, err := reader.ReadSlice('\n')
		pending = append(pending, text...)
		isPartOfLine := errors.Is(err, bufio.ErrBufferFull)
		isEnd := errors.Is(err, io.EOF)
		if err != nil && !isPartOfLine && !isEnd {
			return nil, err
		}
		if isPartOfLine && len(pending) < maxLine {
			continue // read the rest of the line
		}
		if err == nil && len(pending) < checkBatch {
			continue // read another line: one search in many lines is faster than many searches
		}
		for _, l := range c.findLeaks(pending) {
			l.Line += linesBefore
			leaks = append(leaks, l)
		}
		linesBefore += bytes.Count(pending, []byte{'\n'})
		if isEnd {
			return leaks, nil
		}
		if isPartOfLine { // a secret may begin before the cut and end after it
			pending = pending[:copy(pending, pending[len(pending)-recheckedBytes:])]
		} else {
			pending = pending[:0]
		}
	}
}

// learn learns values as secrets. source is their source in reports; a value keeps its first one.
func (c *checker) learn(source string, values ...string) {
	for _, value := range values {
		if value != "" && c.sources[value] == "" {
			c.sources[value] = source
		}
		c.factory.Secrets.Learn(value)
	}
}

// learnEnvironment learns the secrets of the environment.
func (c *checker) learnEnvironment() {
	if c.factory.Environ == nil {
		return
	}
	for _, entry := range c.factory.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		only := new(redact.Secrets) // shows whether this entry is a secret, whatever else is known
		only.LearnEnvironment([]string{entry})
		if only.Knows(value) {
			c.learn("the variable "+name, value)
		}
	}
}

// learnState learns the ids and cookies of remembered sessions, and the tokens of the store. It
// warns about tokens that cannot be decrypted. The error is about the state's files.
func (c *checker) learnState() error {
	store, err := state.Open(c.factory.State)
	if err != nil {
		return nil // there is no state without a directory for it
	}
	st, err := store.Load()
	if err != nil {
		return err
	}
	for _, name := range st.Names() {
		s, _ := st.Session(name)
		c.learn("the session "+name, string(s.SessionID))
		cookies, _ := http.ParseCookie(string(s.Cookies))
		for _, cookie := range cookies {
			c.learn("a cookie of the session "+name, cookie.Value)
		}
	}
	return c.learnTokens()
}

// learnTokens learns the tokens and client secrets of the token store. It warns about secrets that
// cannot be decrypted.
func (c *checker) learnTokens() error {
	tokens, err := c.factory.Env.Tokens()
	if err != nil {
		return err
	}
	records, err := tokens.Load()
	if err != nil {
		return err
	}
	unopened := 0
	learnStored := func(source string, secrets ...auth.Secret) {
		for _, s := range secrets {
			text, err := tokens.Open(s)
			if err != nil {
				unopened++
				continue
			}
			c.learn(source, text)
		}
	}
	for _, t := range records.Tokens {
		learnStored("a token for "+redact.RedactURL(t.Endpoint), t.Access, t.Refresh, t.Key)
	}
	for _, client := range records.Clients {
		learnStored("a client of "+redact.RedactURL(client.Issuer), client.Secret)
	}
	if unopened > 0 {
		c.factory.UI.Warn(
			fmt.Sprintf("%s in the store cannot be opened, so it was not searched for", english.Plural(unopened, "secret")),
		)
	}
	return nil
}

// findLeaks returns the secrets in raw, in order, and in raw decoded as UTF-16, with their places in
// the decoded text.
func (c *checker) findLeaks(raw []byte) []leak {
	all := c.findLeaksInText(raw)
	for _, text := range redact.Wide(raw) {
		all = append(all, c.findLeaksInText(text)...)
	}
	return all
}

// findLeaksInText returns the secrets in raw, in order. It returns an empty list, not nil, if raw
// has no secrets: the list is written as JSON.
func (c *checker) findLeaksInText(raw []byte) []leak {
	leaks := []leak{}
	line := 1
	position := 0 // of the last found secret
	for _, f := range c.factory.Secrets.Find(raw) {
		line += bytes.Count(raw[position:f.From], []byte{'\n'})
		position = f.From
		lineStart := bytes.LastIndexByte(raw[:position], '\n') + 1
		leaks = append(leaks, leak{
			Line:   line,
			Column: utf8.RuneCount(raw[lineStart:position]) + 1,
			Length: f.To - f.From,
			Kind:   f.Kind,
			From:   c.reasonFor(f),
			text:   string(raw[f.From:f.To]),
		})
	}
	return leaks
}

// reasonFor returns the reason why a finding is a secret: the source of a known value, or else how
// its text gave it away.
func (c *checker) reasonFor(f redact.Found) string {
	if source := c.sources[f.Secret]; source != "" {
		return source
	}
	if line := c.factory.RedactionFor(f.Secret); f.Kind == redact.FoundKnown && line > 0 {
		return fmt.Sprintf("line %d of %s", line, c.factory.RedactFile)
	}
	return map[redact.FoundKind]string{
		redact.FoundKnown: "a value that is marked as a secret elsewhere in the file, or encoded differently",
		redact.FoundURL:   "user information or a secret parameter of a URL or a form",
		redact.FoundName:  "a value of a field named like a secret",
		redact.FoundToken: "it looks like an API token", redact.FoundKey: "it is a private key",
		redact.FoundRandom: "it looks random",
		redact.FoundMail:   "an e-mail address", redact.FoundHome: "the name of a home directory",
		redact.FoundIP: "an IP address",
	}[f.Kind]
}

// writeLeaks writes leaks as JSON, or one on each line.
func writeLeaks(w io.Writer, asJSON bool, name string, leaks []leak) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false) // keeps < and & in names readable
		return enc.Encode(leaks)
	}
	for _, l := range leaks {
		place := name
		if l.Member != "" {
			place += ":" + l.Member
		}
		if _, err := fmt.Fprintf(
			w, "%s:%d:%d: %s: %s\n", term.Line(place), l.Line, l.Column, l.Kind, term.Line(l.From),
		); err != nil {
			return err
		}
	}
	return nil
}
