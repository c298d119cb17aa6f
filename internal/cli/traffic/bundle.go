package traffic

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

	"mcpc/internal/capture"
	"mcpc/internal/capture/bundle"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/cli/traffic/share"
	"mcpc/internal/connect"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// bundleOptions are those of `mcpc export --as bundle`.
type bundleOptions struct {
	redact   []string
	strict   bool
	note     string
	yes      bool
	minimise string
	// words are the filter as it was given.
	words []string
}

func (o *bundleOptions) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.redact, "redact", nil, "bundle: hide what a `jq` expression gives or a /regular expression/ matches; repeatable")
	flags.BoolVar(&o.strict, "strict", false, "bundle, --check: also e-mail addresses, names of home directories, IPv4 addresses")
	flags.StringVar(&o.note, "note", "", "bundle: add a `text` for the reader")
	flags.BoolVarP(&o.yes, "yes", "y", false, "bundle: write without a confirmation")
	flags.StringVar(&o.minimise, "minimise", "", "bundle: drop exchanges while this `command` exits with 0")
}

// given reports an option that only a bundle has.
func (o *bundleOptions) given() bool {
	return o.redact != nil || o.note != "" || o.yes || o.minimise != "" || o.strict
}

func (o *bundleOptions) level() redact.Guess {
	if o.strict {
		return redact.GuessStrict
	}
	return redact.GuessLikely
}

// A draft is a bundle that is not written yet: its capture is, without secrets.
type draft struct {
	*share.Draft
	capture *capture.Capture
	// numbers are those that the exchanges had.
	numbers []string
}

// exportBundle writes the exchanges that are meant as a bundle.
func exportBundle(ctx context.Context, f *cmdutil.Factory, o exportOptions) error {
	if f.Output == "" {
		return usage.New("a bundle is a file: --as bundle needs -o FILE", wire.Run("export "+shellwords.Quote(o.word)+" --as bundle -o bug.mcpcz"))
	}
	rules, err := share.ReadRules(o.bundle.redact)
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // the rows of a large recording stay all the time
	d, err := copied(ctx, f, o, &share.Hider{Factory: f, Rules: rules, Level: o.bundle.level()})
	if err != nil {
		return err
	}
	defer d.Capture.Close()
	runtime.GC() // what was read of the recording itself is not needed any more
	if err := d.complete(f, o); err != nil {
		return cmdutil.Exit(usage.LocalIO("making the bundle", usage.Bare(err)))
	}
	if out := confirmedBundle(ctx, f, o, d); !out.Good() {
		return cmdutil.Exit(out)
	}
	err = cmdutil.WriteOut(f, func(w io.Writer) error { return bundle.Write(w, d.Content) })
	if err != nil {
		return cmp.Or(cmdutil.StdoutError(f), cmdutil.Exit(recorded.Unreadable(f.Output, err)))
	}
	return nil
}

// copied makes the capture of the bundle.
func copied(ctx context.Context, f *cmdutil.Factory, o exportOptions, h *share.Hider) (*draft, error) {
	known := &checker{a: f, from: map[string]string{}}
	known.environment()
	if err := known.state(); err != nil {
		return nil, cmdutil.Exit(connect.StateFailed(err))
	}
	c, rows, out := exported(f, o)
	if !out.Good() {
		return nil, cmdutil.Exit(out)
	}
	defer c.Close()
	recorded.Warn(f, c)
	rows = share.WithOpenings(c, rows)
	err := h.Learn(ctx, c, rows)
	if err == nil && o.bundle.minimise != "" {
		rows, err = share.Minimise(ctx, f, c, rows, o.bundle.minimise)
	}
	if err != nil {
		return nil, err
	}
	d, err := h.Draft(c, rows)
	if err != nil {
		return nil, cmdutil.Exit(usage.LocalIO("making the bundle", usage.Bare(err)))
	}
	return &draft{Draft: d, numbers: sliceutil.Map(rows, (*capture.Row).Number)}, nil
}

// complete makes the other members of the capture, which has no secrets any more.
func (d *draft) complete(f *cmdutil.Factory, o exportOptions) (err error) {
	if d.capture, err = capture.OpenFrom(f.Output, d.Content.Capture); err != nil {
		return err
	}
	c := d.capture
	m := &d.Manifest
	m.Mcpc, m.Filter = f.Version, f.Secrets.Command(o.bundle.words)
	versions, protocols := map[string]bool{}, map[string]bool{}
	for _, h := range c.Heads {
		versions[cmp.Or(h.Mcpc, "unknown")] = true
	}
	for _, r := range c.Rows() {
		protocols[r.Revision] = true
		if d.Modified.Before(r.LastFrame()) {
			d.Modified = r.LastFrame()
		}
	}
	delete(protocols, "")
	m.Recorded, m.Protocols = slices.Sorted(maps.Keys(versions)), slices.Sorted(maps.Keys(protocols))
	m.Exchanges = len(c.Rows())
	if now := sliceutil.Map(c.Rows(), (*capture.Row).Number); len(now) == len(d.numbers) && len(now) <= share.MostRows && !slices.Equal(now, d.numbers) {
		m.Was = d.numbers
	}
	if d.Tools, err = listed(c); err != nil {
		return err
	}
	var report bytes.Buffer
	rows := c.Rows()
	if len(rows) > mostInReport {
		rows = rows[:mostInReport]
		m.Notes = append(m.Notes, fmt.Sprintf("%s has the first %d exchanges", bundle.ReportName, mostInReport))
	}
	if err := exportReports(f, &report, c, rows); err != nil {
		return err
	}
	d.Report = report.Bytes()
	if o.bundle.note != "" {
		d.Notes = []byte(strings.TrimRight(f.Secrets.Text(o.bundle.note), "\n") + "\n")
	}
	info, err := d.Content.Capture.Stat()
	if err != nil {
		return err
	}
	page := share.Page{Manifest: *m, Report: string(d.Report), Notes: string(d.Notes), Large: info.Size() > largeCapture}
	d.Data, err = page.Of(c, func(row *capture.Row) any { return rowJSON(row) })
	return err
}

// largeCapture is from how many bytes on a browser is kept from reading the archive.
const largeCapture = 64 << 20

// mostInReport is how many exchanges a bundle's report has.
const mostInReport = 100

// A listing is what a server listed last.
type listing struct {
	Server string `json:"server"`
	// Info is serverInfo, null where it was not recorded.
	Info              json.RawMessage   `json:"serverInfo"`
	Tools             []json.RawMessage `json:"tools"`
	Prompts           []json.RawMessage `json:"prompts"`
	Resources         []json.RawMessage `json:"resources"`
	ResourceTemplates []json.RawMessage `json:"resourceTemplates"`
}

// lists are the methods that list something, by the member of their result.
var lists = map[string]string{"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"}

// listed is what each server listed last, as JSON: all pages of it.
func listed(c *capture.Capture) ([]byte, error) {
	all := []*listing{}
	for _, row := range c.Rows() {
		member, opens := lists[row.Method], slices.Contains(recorded.OpeningMethods, row.Method)
		if row.Channel != capture.ChannelOK || member == "" && !opens {
			continue
		}
		x, err := row.Exchange()
		if err != nil || x == nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(l *listing) bool { return l.Server == row.Target })
		if i < 0 {
			none := []json.RawMessage{}
			i, all = len(all), append(all, &listing{Server: row.Target, Tools: none, Prompts: none, Resources: none, ResourceTemplates: none})
		}
		if opens {
			all[i].Info = jsonraw.OrNull(describedBy(x.Response.Raw))
			continue
		}
		items, _ := jsonraw.Array(jsonraw.First(wire.ParseMessage(x.Response.Raw).Result, member))
		list := all[i].of(member)
		if jsonraw.First(wire.ParseMessage(x.Request.Raw).Params, "cursor") == nil {
			*list = []json.RawMessage{}
		}
		*list = append(*list, items...)
	}
	raw, err := json.MarshalIndent(all, "", "  ")
	return append(raw, '\n'), err
}

func (l *listing) of(member string) *[]json.RawMessage {
	return map[string]*[]json.RawMessage{"tools": &l.Tools, "prompts": &l.Prompts, "resources": &l.Resources, "resourceTemplates": &l.ResourceTemplates}[member]
}

// confirmedBundle shows what leaves the machine, and asks.
func confirmedBundle(ctx context.Context, f *cmdutil.Factory, o exportOptions, d *draft) wire.Outcome {
	m := d.Manifest
	hidden := fmt.Sprintf("%s, %s hidden in %s", english.Plural(m.Exchanges, "exchange"), english.Plural(m.Values, "value"), english.Plural(m.Hidden, "place"))
	if m.Hidden == 0 {
		hidden = english.Plural(m.Exchanges, "exchange") + ", nothing hidden"
	}
	if o.bundle.yes {
		f.Note(hidden)
		return wire.Outcome{}
	}
	refused := wire.Outcome{Kind: wire.Refused, Phase: "arguments", Text: "not written: a bundle leaves this machine, and was not confirmed", Hint: "--yes writes it without asking"}
	if !f.Interactive() {
		return refused
	}
	w := f.Stderr()
	fmt.Fprintf(w, "%s: %s; from %s\n", term.Line(f.Output), hidden, strings.Join(serversIn(d.capture), ", "))
	for _, kind := range slices.Sorted(maps.Keys(m.Now)) {
		fmt.Fprintf(w, "  hidden by this export: %d, %s\n", m.Now[kind], kind)
	}
	if err := tellLeft(f, d); err != nil {
		return usage.LocalIO("making the bundle", usage.Bare(err))
	}
	switch {
	case f.Ask(ctx, "Write this bundle?"):
		return wire.Outcome{}
	case ctx.Err() != nil:
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	}
	refused.Hint = "--redact hides more, and a filter picks fewer exchanges"
	return refused
}

// tellLeft shows what is left that may be private.
func tellLeft(f *cmdutil.Factory, d *draft) error {
	w := f.Stderr()
	words, err := share.Longest(d.capture)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		fmt.Fprintln(w, "The longest words that are left:")
	}
	for _, word := range words {
		fmt.Fprintf(w, "  %s\n", shortened(term.Line(word), max(20, f.ErrStyle.Width-4)))
	}
	c := &checker{a: f, from: map[string]string{}}
	defer func(before redact.Guess) { f.Secrets.Guess = before }(f.Secrets.Guess)
	f.Secrets.Guess = redact.GuessStrict
	leaks, err := c.leaksByLine(io.NewSectionReader(d.Content.Capture, 0, math.MaxInt64), longestChecked)
	if err != nil {
		return err
	}
	counts := map[redact.FoundKind]int{}
	for _, l := range leaks {
		counts[l.Kind]++
	}
	for _, kind := range []redact.FoundKind{redact.FoundMail, redact.FoundHome, redact.FoundIP} {
		if n := counts[kind]; n > 0 {
			fmt.Fprintf(w, "  not hidden without --strict: %d, %s\n", n, share.HiddenAs[kind])
		}
	}
	return nil
}

// shortened is the beginning of a text that is longer than so many characters.
func shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// serversIn are the servers of a capture as a person is told.
func serversIn(c *capture.Capture) (names []string) {
	for _, r := range c.Rows() {
		if name := term.Line(r.Target); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
