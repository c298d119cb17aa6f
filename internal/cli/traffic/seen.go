package traffic

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/clientfile"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// SeenServers is the report `mcpc servers --seen`: what the recordings have of each known server.
type SeenServers struct{ isAsked bool }

// AddFlags declares the flag of the report.
func (o *SeenServers) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.isAsked, "seen", false, "print what was recorded of each server, without a connection")
}

// IsAsked reports whether the flag is given.
func (o *SeenServers) IsAsked() bool { return o.isAsked }

// Run prints the report about the servers with these names. Without a name it is about all known
// servers and the other recorded ones.
func (o *SeenServers) Run(ctx context.Context, f *cmdutil.Factory, names []string) error {
	seen, err := knownServers(f, names)
	if err != nil {
		return err
	}
	selection := newSelection(f, filter.Filter{})
	out := eachCapture(f, "", func(c *rows.Capture, _ time.Time) (more bool) {
		selection.each(c, func(r *rows.Row) { seen.add(f.HideSecretsInRows([]*rows.Row{r})[0], len(names) == 0) })
		return ctx.Err() == nil
	})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	if len(seen.servers) == 0 {
		f.Note("no known and no recorded servers")
	}
	sliceutil.Sort(seen.servers, func(a, b *seenServer) int { return b.LastUsed.Compare(a.LastUsed) })
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(seen.json(), seen.write))
}

// A seenServer is what the recordings have of one server.
type seenServer struct {
	// ID is the id of a known server, else the recorded URL or command.
	ID       string    `json:"id"`
	From     string    `json:"from,omitempty"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	Clients  []string  `json:"clients"`
	// Calls are the calls of tools, Requests all requests.
	Calls    groupJSON `json:"calls"`
	Requests groupJSON `json:"requests"`

	calls, requests rows.Stats
}

// seenOnes are the servers of the report, and the servers by the texts that recordings name them with.
type seenOnes struct {
	servers  []*seenServer
	byTarget map[string]*seenServer
}

// knownServers returns the known servers with these names, before a recording is read.
func knownServers(f *cmdutil.Factory, names []string) (*seenOnes, error) {
	known, skipped, err := f.KnownServersNamed("servers --seen", names)
	if err != nil {
		return nil, err
	}
	seen := &seenOnes{byTarget: map[string]*seenServer{}}
	for _, s := range known {
		seen.include(s.ID, s.Title, s.Also...)
	}
	for _, s := range skipped {
		seen.include(s.ID, s.Title)
	}
	for _, s := range known { // after the sessions, whose names come first with -s, too
		seen.alias(s.ID, s.Name)
	}
	for _, s := range skipped {
		seen.alias(s.ID, s.Name)
	}
	if _, st, err := f.Env.LoadState(); err == nil {
		for _, name := range st.Names() {
			s, _ := st.Session(name)
			if s.From != nil {
				seen.alias(name, s.From.Client+":"+s.From.Name)
			}
			seen.aliasPlace(f, name, s.Endpoint, s.Command)
		}
	}
	for _, s := range f.Env.ConfiguredServers() {
		seen.aliasPlace(f, s.ID(), s.URL, s.Command)
	}
	return seen, nil
}

// include adds a server. also are the ids of identical servers.
func (seen *seenOnes) include(id, from string, also ...string) *seenServer {
	s := &seenServer{ID: id, From: from, Clients: []string{}}
	seen.servers = append(seen.servers, s)
	seen.byTarget[id] = s
	for _, other := range also {
		seen.byTarget[other] = s
	}
	return s
}

// alias makes text another name of the server id, unless it is one of another server. It does nothing
// if the server is not in the report.
func (seen *seenOnes) alias(id, text string) {
	s := seen.byTarget[id]
	if s != nil && text != "" && seen.byTarget[text] == nil {
		seen.byTarget[text] = s
	}
}

// aliasPlace makes the URL and the command of a server names of it: as mcpc records them, also if the
// command is mcpc tap or mcpc serve.
func (seen *seenOnes) aliasPlace(f *cmdutil.Factory, id, url string, argv []string) {
	if url != "" {
		seen.alias(id, f.Secrets.Text(redact.RedactURL(url)))
	}
	if len(argv) == 0 {
		return
	}
	seen.alias(id, f.Secrets.Text(connect.CommandLine(argv)))
	if len(argv) < 3 {
		return
	}
	words := argv[2+clientfile.CountFlags(argv[2:]):]
	switch argv[1] {
	case "tap":
		if len(words) > 0 && words[0] == "--" {
			words = words[1:]
		}
		seen.alias(id, f.Secrets.Text(connect.CommandLine(words)))
	case "serve":
		for _, word := range words {
			seen.alias(id, f.Secrets.Text(redact.RedactURL(word)))
		}
	}
}

// add counts a row for its server. A row of another server is left out, unless all is set.
func (seen *seenOnes) add(r *rows.Row, all bool) {
	s := seen.byTarget[r.Target]
	if s == nil && all && r.Target != "" {
		s = seen.include(r.Target, "")
	}
	if s == nil || rows.IsByServer(r) {
		return
	}
	s.requests.Add(r)
	if r.Method == "tools/call" {
		s.calls.Add(r)
	}
	if r.Time.After(s.LastUsed) {
		s.LastUsed = r.Time
	}
	if client := r.Client(); client != "" && !slices.Contains(s.Clients, client) {
		s.Clients = append(s.Clients, client)
	}
}

// json returns {"servers":[SERVER...]}, the last used first.
func (seen *seenOnes) json() json.RawMessage {
	for _, s := range seen.servers {
		s.Calls = groupOf(s.calls.All())
		s.Requests = groupOf(s.requests.All())
		slices.Sort(s.Clients)
	}
	raw, _ := json.Marshal(map[string]any{"servers": append([]*seenServer{}, seen.servers...)})
	return raw
}

// write writes a line for each server.
func (seen *seenOnes) write(w io.Writer, st term.Style) error {
	var cells [][]string
	for _, s := range seen.servers {
		calls := s.calls.All()
		requests := s.requests.All()
		row := []string{
			s.ID, strconv.Itoa(calls.Count), strconv.Itoa(failureCount(calls)), "-", "-",
			strconv.Itoa(requests.Count), strconv.Itoa(failureCount(requests)), "never", strings.Join(s.Clients, ", "),
		}
		if calls.Timed() > 0 {
			row[3] = term.Duration(calls.Percentile(50))
			row[4] = term.Duration(calls.Percentile(95))
		}
		if !s.LastUsed.IsZero() {
			row[7] = s.LastUsed.Format(time.DateTime)
		}
		cells = append(cells, row)
	}
	return term.Table(w, st, []string{
		"SERVER", "CALLS", "FAILED", "P50", "P95", "REQUESTS", "FAILED", "LAST USED", "CLIENTS",
	}, cells)
}

// failureCount returns how many rows of a group failed.
func failureCount(g *rows.Group) int {
	count := 0
	for _, failure := range g.Failures() {
		count += failure.Count
	}
	return count
}
