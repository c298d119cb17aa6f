package share

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"mcpc/internal/capture/bundle"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect"
	"mcpc/internal/english"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/web"
	"mcpc/internal/wire"
)

// BundleOptions are the options of mcpc export --as bundle.
type BundleOptions struct {
	Redact []string
	Strict bool
	Note   string
	Yes    bool
	// Words are the words of the filter.
	Words []string
	// Added is the number of exchanges that the caller added to the selected ones.
	Added int
}

// AddFlags declares the flags.
func (o *BundleOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(
		&o.Redact,
		"redact",
		nil,
		"bundle: hide values that a `jq` expression or a /regular expression/ selects; repeatable",
	)
	flags.BoolVar(
		&o.Strict,
		"strict",
		false,
		"bundle, --check: also hide or find e-mail addresses, names of home directories, IPv4 addresses",
	)
	flags.StringVar(&o.Note, "note", "", "bundle: add a `text` for the reader")
	flags.BoolVarP(&o.Yes, "yes", "y", false, "bundle: write without asking for confirmation")
}

// IsSet reports whether an option is set that only bundles have.
func (o *BundleOptions) IsSet() bool {
	return o.Redact != nil || o.Note != "" || o.Yes || o.Strict
}

// levelOf returns the level of guessing for a bundle.
func levelOf(strict bool) redact.Guess {
	if strict {
		return redact.GuessStrict
	}
	return redact.GuessLikely
}

// A Bundle is a bundle that is not written yet. Its capture has no secrets.
type Bundle struct {
	*bundle.Content
	capture *rows.Capture
	// originalNumbers are the numbers of the exchanges in the recording. addedCount is how many
	// exchanges were not selected.
	originalNumbers []string
	addedCount      int
}

// NewBundle makes a bundle of the exchanges that pick returns, and closes the capture of pick. The
// caller closes the bundle.
func NewBundle(
	ctx context.Context,
	f *cmdutil.Factory,
	o BundleOptions,
	pick func() (*rows.Capture, []*rows.Row, wire.Outcome),
) (*Bundle, error) {
	rules, err := ReadRules(o.Redact)
	if err != nil {
		return nil, err
	}
	// The rows of a large recording stay in memory while it is copied: collect more often until
	// NewBundle returns.
	percentBefore := debug.SetGCPercent(25)
	defer debug.SetGCPercent(percentBefore)
	b, err := copyWithoutSecrets(ctx, f, o, &Hider{Factory: f, Rules: rules, Level: levelOf(o.Strict)}, pick)
	if err != nil {
		return nil, err
	}
	runtime.GC() // the recording itself is no longer needed
	if err := b.addDocuments(f, o); err != nil {
		b.Close()
		return nil, cmdutil.Exit(usage.LocalIO("making the bundle", usage.Bare(err)))
	}
	return b, nil
}

// Close closes the temporary capture of the bundle.
func (b *Bundle) Close() { b.Content.Capture.Close() }

// Write writes the bundle as one file.
func (b *Bundle) Write(w io.Writer) error { return bundle.Write(w, *b.Content) }

// WritePage writes only the page of the bundle.
func (b *Bundle) WritePage(w io.Writer) error { return bundle.WritePage(w, *b.Content) }

// copyWithoutSecrets returns a bundle that has only its capture: a copy, without secrets, of the
// exchanges that pick returns and of the exchanges that explain them. It closes the capture of
// pick.
func copyWithoutSecrets(
	ctx context.Context,
	f *cmdutil.Factory,
	o BundleOptions,
	hider *Hider,
	pick func() (*rows.Capture, []*rows.Row, wire.Outcome),
) (*Bundle, error) {
	// The checker is only used to add the known values to f.Secrets, before a row is read.
	known := &checker{factory: f, sources: map[string]string{}}
	known.learnEnvironment()
	if err := known.learnState(); err != nil {
		return nil, cmdutil.Exit(connect.StateFailed(err))
	}
	c, selected, out := pick()
	if !out.OK() {
		return nil, cmdutil.Exit(out)
	}
	defer c.Close()
	recorded.WarnDamage(f, c)
	all := WithContext(c, selected)
	addedCount := len(all) - len(selected) + o.Added
	if err := hider.Learn(ctx, c, all); err != nil {
		return nil, err
	}
	content, err := hider.Draft(c, all)
	if err != nil {
		return nil, cmdutil.Exit(usage.LocalIO("making the bundle", usage.Bare(err)))
	}
	numbers := sliceutil.Map(all, (*rows.Row).Number)
	return &Bundle{Content: content, originalNumbers: numbers, addedCount: addedCount}, nil
}

// addDocuments makes the other parts of the bundle: the manifest, the lists of the servers, the
// report, the notes and the page. It makes them from the bundle's capture, so that they have no
// secrets either; only the note is the user's text, and is hidden here.
func (b *Bundle) addDocuments(f *cmdutil.Factory, o BundleOptions) error {
	c, err := rows.OpenFrom(bundle.CaptureName, b.Content.Capture)
	if err != nil {
		return err
	}
	b.capture = c
	b.fillManifest(f, o)
	b.Tools, err = listsJSON(c)
	if err != nil {
		return err
	}
	reported := c.Rows()
	if len(reported) > maxReported {
		reported = reported[:maxReported]
		b.Manifest.Notes = append(b.Manifest.Notes,
			fmt.Sprintf("%s has the first %d exchanges", bundle.ReportName, maxReported))
	}
	var report bytes.Buffer
	if err := writeReports(f, &report, c, reported); err != nil {
		return err
	}
	b.Report = report.Bytes()
	if o.Note != "" {
		b.Notes = []byte(strings.TrimRight(f.Secrets.Text(o.Note), "\n") + "\n")
	}
	page := Page{Title: "MCP recording", Manifest: b.Manifest, Report: string(b.Report), Notes: string(b.Notes)}
	b.Data, err = page.JSON(c, b.Modified)
	if err != nil {
		return err
	}
	b.Script, b.Style, err = web.Code()
	return err
}

// fillManifest fills the manifest from the capture, and sets b.Modified to the time of the last frame.
func (b *Bundle) fillManifest(f *cmdutil.Factory, o BundleOptions) {
	manifest := &b.Manifest
	manifest.Mcpc = f.Version
	manifest.Filter = f.Secrets.Command(o.Words)
	versions := map[string]bool{}
	for _, h := range b.capture.Heads {
		versions[cmp.Or(h.Mcpc, "unknown")] = true
	}
	manifest.Recorded = slices.Sorted(maps.Keys(versions))
	protocols := map[string]bool{}
	for _, r := range b.capture.Rows() {
		protocols[r.Revision] = true
		if b.Modified.Before(r.LastFrameTime()) {
			b.Modified = r.LastFrameTime()
		}
	}
	delete(protocols, "") // of rows without a known revision
	manifest.Protocols = slices.Sorted(maps.Keys(protocols))
	manifest.Exchanges = len(b.capture.Rows())
	if b.addedCount > 0 {
		manifest.Notes = append(manifest.Notes, english.Plural(b.addedCount, "exchange")+
			" added to those that were chosen: handshakes and lists of tools of their conversations")
	}
	// Exchanges are numbered by their position in the file, so a copy of some has other numbers.
	// The old ones are left out of the manifest of a very large bundle.
	numbers := sliceutil.Map(b.capture.Rows(), (*rows.Row).Number)
	canListNumbers := len(numbers) == len(b.originalNumbers) && len(numbers) <= MostRows
	if canListNumbers && !slices.Equal(numbers, b.originalNumbers) {
		manifest.Was = b.originalNumbers
	}
}

// maxReported bounds the exchanges in a bundle's report.
const maxReported = 100

// serverLists has the description of a server and the last list of each kind from it.
type serverLists struct {
	Server string `json:"server"`
	// Info is serverInfo, or null if it was not recorded.
	Info              json.RawMessage   `json:"serverInfo"`
	Tools             []json.RawMessage `json:"tools"`
	Prompts           []json.RawMessage `json:"prompts"`
	Resources         []json.RawMessage `json:"resources"`
	ResourceTemplates []json.RawMessage `json:"resourceTemplates"`
}

// listsJSON returns the last lists of each server as JSON, with all pages. A list that was not
// recorded is empty.
func listsJSON(c *rows.Capture) ([]byte, error) {
	servers := []*serverLists{}
	for _, row := range c.Rows() {
		isOpening := mcp.IsOpening(row.Method)
		isListing := mcp.IsServerList(row.Method)
		if row.Channel != exchange.ChannelOK || !isOpening && !isListing {
			continue
		}
		x, err := row.Exchange()
		if err != nil || x == nil {
			return nil, err
		}
		i := slices.IndexFunc(servers, func(s *serverLists) bool { return s.Server == row.Target })
		if i < 0 {
			none := []json.RawMessage{}
			i = len(servers)
			servers = append(servers, &serverLists{
				Server: row.Target, Tools: none, Prompts: none, Resources: none, ResourceTemplates: none,
			})
		}
		if isOpening {
			servers[i].Info = jsonraw.OrNull(recorded.ServerInfo(x.Response.Raw))
		} else {
			servers[i].addPage(mcp.ListMember(row.Method), x)
		}
	}
	raw, err := json.MarshalIndent(servers, "", "  ")
	return append(raw, '\n'), err
}

// addPage adds the items of a page to the list named member. A request without a cursor begins the
// list again, so its page replaces the earlier items.
func (l *serverLists) addPage(member string, x *wire.Exchange) {
	list := map[string]*[]json.RawMessage{
		"tools": &l.Tools, "prompts": &l.Prompts, "resources": &l.Resources,
		"resourceTemplates": &l.ResourceTemplates,
	}[member]
	if jsonraw.First(wire.ParseMessage(x.Request.Raw).Params, "cursor") == nil {
		*list = []json.RawMessage{}
	}
	items, _ := jsonraw.Array(jsonraw.First(wire.ParseMessage(x.Response.Raw).Result, member))
	*list = append(*list, items...)
}

// Confirm shows what is in the bundle and asks the user to write it. With yes set it asks
// nothing. The outcome is OK if the bundle may be written, Refused if not, Signal after an
// interrupt.
func (b *Bundle) Confirm(ctx context.Context, f *cmdutil.Factory, yes bool) wire.Outcome {
	m := b.Manifest
	hidden := fmt.Sprintf(
		"%s, %s hidden in %s", english.Plural(m.Exchanges, "exchange"),
		english.Plural(m.Values, "value"), english.Plural(m.Hidden, "place"),
	)
	if m.Hidden == 0 {
		hidden = english.Plural(m.Exchanges, "exchange") + ", and no secret was found to hide"
	}
	renumbered := b.renumbered() // a text, or ""
	if yes {
		f.Note(hidden)
		if renumbered != "" {
			f.Note(renumbered)
		}
		return wire.Outcome{}
	}
	refused := wire.Outcome{
		Kind:  wire.Refused,
		Phase: "arguments",
		Text:  "not written: a bundle leaves this machine, and you did not confirm it",
		Hint:  "--yes writes it without asking",
	}
	if !f.Interactive() {
		return refused
	}
	var servers []string
	for _, r := range b.capture.Rows() {
		if name := term.Line(r.Target); name != "" && !slices.Contains(servers, name) {
			servers = append(servers, name)
		}
	}
	w := f.Stderr()
	fmt.Fprintf(w, "%s: %s; from %s\n", term.Line(f.Output), hidden, strings.Join(servers, ", "))
	if renumbered != "" {
		fmt.Fprintf(w, "  %s\n", renumbered)
	}
	for _, kind := range slices.Sorted(maps.Keys(m.Now)) {
		fmt.Fprintf(w, "  hidden by this export: %d, %s\n", m.Now[kind], kind)
	}
	if err := b.printRemaining(f); err != nil {
		return usage.LocalIO("making the bundle", usage.Bare(err))
	}
	if f.Ask(ctx, "Write this bundle?") {
		return wire.Outcome{}
	}
	if ctx.Err() != nil {
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	}
	refused.Hint += "; --redact hides more, and a filter picks fewer exchanges" // the user has seen the contents
	return refused
}

// renumbered returns a text about the last exchange whose number differs between the bundle and the
// recording, or "" if all numbers are equal. The last exchange is mostly the selected one.
func (b *Bundle) renumbered() string {
	text := ""
	count := 0
	rows := b.capture.Rows()
	for i, original := range b.Manifest.Was {
		current := rows[i].Number()
		if original != current {
			count++
			text = original + " is " + current + " in the bundle"
		}
	}
	if count > 1 {
		return english.Plural(count, "exchange") + " have other numbers: " + text
	}
	return text
}

// printRemaining prints to stderr what may be private in the bundle: its longest words, and how many
// values --strict would have hidden.
func (b *Bundle) printRemaining(f *cmdutil.Factory) error {
	w := f.Stderr()
	words, err := Longest(b.capture)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		fmt.Fprintln(w, "The longest words that are not hidden:")
	}
	for _, word := range words {
		fmt.Fprintf(w, "  %s\n", term.Shorten(term.Line(word), max(20, f.ErrStyle.Width-4)))
	}
	c := &checker{factory: f, sources: map[string]string{}}
	previousGuess := f.Secrets.Guess
	defer func() { f.Secrets.Guess = previousGuess }()
	f.Secrets.Guess = redact.GuessStrict // a bundle made with --strict then does not have these values
	leaks, err := c.findLeaksByLine(io.NewSectionReader(b.Content.Capture, 0, math.MaxInt64), maxCheckedLine)
	if err != nil {
		return err
	}
	counts := map[redact.FoundKind]int{}
	for _, l := range leaks {
		counts[l.Kind]++
	}
	for _, kind := range []redact.FoundKind{redact.FoundMail, redact.FoundHome, redact.FoundIP} {
		if n := counts[kind]; n > 0 {
			fmt.Fprintf(w, "  not hidden without --strict: %d, %s\n", n, HiddenAs[kind])
		}
	}
	return nil
}
