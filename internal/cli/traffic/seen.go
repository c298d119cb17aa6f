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
	"mcpc/internal/english"
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
	seen := knownServers(f)
	isWanted := func(*seenServer) bool { return true }
	if len(names) > 0 {
		known, skipped, err := f.KnownServersNamed("servers --seen", names)
		if err != nil {
			return err
		}
		wanted := map[string]bool{}
		for _, s := range known {
			wanted[s.ID] = true
		}
		for _, s := range skipped {
			wanted[s.ID] = true
		}
		isWanted = func(s *seenServer) bool {
			return wanted[s.ID] || slices.ContainsFunc(s.Also, func(id string) bool { return wanted[id] })
		}
	}
	selection := newSelection(f, filter.Filter{})
	out := eachCapture(f, "", func(c *rows.Capture, _ time.Time) (more bool) {
		selection.each(c, func(r *rows.Row) { seen.add(f.HideSecretsInRows([]*rows.Row{r})[0]) })
		return ctx.Err() == nil
	})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	seen.servers = slices.DeleteFunc(seen.servers, func(s *seenServer) bool {
		isNamedByAnother := s.requests.All().Count == 0 && slices.ContainsFunc(seen.servers, func(other *seenServer) bool {
			return other.isShared && slices.Contains(other.Also, s.ID)
		})
		return isNamedByAnother || !isWanted(s)
	})
	if len(seen.servers) == 0 {
		f.Note("no known and no recorded servers")
	}
	sliceutil.Sort(seen.servers, func(a, b *seenServer) int { return b.LastUsed.Compare(a.LastUsed) })
	write := func(w io.Writer, st term.Style) error { return seen.write(w, st, f.Now()) }
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(seen.json(), write))
}

// A seenServer is what the recordings have of one server.
type seenServer struct {
	// ID is the id of a known server, else the recorded URL or command.
	ID string `json:"id"`
	// Also are the ids of identical servers. If isShared is set, they are the servers that the
	// traffic may belong to.
	Also     []string  `json:"same,omitempty"`
	From     string    `json:"from,omitempty"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
	Clients  []string  `json:"clients"`
	// Calls are the calls of tools, Requests all requests.
	Calls    groupJSON `json:"calls"`
	Requests groupJSON `json:"requests"`

	isShared        bool
	calls, requests rows.Stats
}

// seenOnes are the servers of the report.
type seenOnes struct {
	servers []*seenServer
	// byName has the servers by their names for -s. byLine has the servers whose entry runs mcpc serve or
	// mcpc tap, by the command line without the program. byPlace has the servers by URL or command line.
	byName          map[string]*seenServer
	byLine, byPlace map[string][]*seenServer
	// others has the servers that are not known, and the shared ones, by the ID and the ids in Also.
	others map[string]*seenServer
}

// knownServers returns the known servers, before a recording is read.
func knownServers(f *cmdutil.Factory) *seenOnes {
	known, skipped := f.KnownServers()
	seen := &seenOnes{
		byName:  map[string]*seenServer{},
		byLine:  map[string][]*seenServer{},
		byPlace: map[string][]*seenServer{},
		others:  map[string]*seenServer{},
	}
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
			seen.addPlaces(f, name, s.Endpoint, s.Command)
		}
	}
	for _, s := range f.Env.ConfiguredServers() {
		seen.addPlaces(f, s.ID(), s.URL, s.Command)
	}
	return seen
}

// include adds a server. also are the ids of identical servers.
func (seen *seenOnes) include(id, from string, also ...string) {
	s := &seenServer{ID: id, Also: also, From: from, Clients: []string{}}
	seen.servers = append(seen.servers, s)
	seen.byName[id] = s
	for _, other := range also {
		seen.byName[other] = s
	}
}

// alias makes text another name of the server id, unless it is one of another server. It does nothing
// if the server is not in the report.
func (seen *seenOnes) alias(id, text string) {
	s := seen.byName[id]
	if s != nil && text != "" && seen.byName[text] == nil {
		seen.byName[text] = s
	}
}

// addPlaces adds the URL and the command of a server to byPlace and byLine, as mcpc records them, also
// if the command is mcpc tap or mcpc serve.
func (seen *seenOnes) addPlaces(f *cmdutil.Factory, id, url string, argv []string) {
	s := seen.byName[id]
	if s == nil {
		return
	}
	add := func(to map[string][]*seenServer, text string) {
		text = f.Secrets.Text(text)
		if !slices.Contains(to[text], s) {
			to[text] = append(to[text], s)
		}
	}
	if url != "" {
		add(seen.byPlace, redact.RedactURL(url))
	}
	if len(argv) == 0 {
		return
	}
	add(seen.byPlace, connect.CommandLine(argv))
	if len(argv) < 3 {
		return
	}
	words := argv[2+clientfile.CountFlags(argv[2:]):]
	switch argv[1] {
	case "tap":
		add(seen.byLine, ownLine(argv))
		if len(words) > 0 && words[0] == "--" {
			words = words[1:]
		}
		add(seen.byPlace, connect.CommandLine(words))
	case "serve":
		add(seen.byLine, ownLine(argv))
		for _, word := range words {
			add(seen.byPlace, redact.RedactURL(word))
		}
	}
}

// ownLine returns the command line of mcpc in argv without the program, and without the values of
// header fields, which recordings hide in another way than CommandLine.
func ownLine(argv []string) string {
	words := slices.Clone(argv[1:])
	for i, word := range words {
		if i > 0 && (words[i-1] == "--header" || words[i-1] == "-H") {
			words[i], _, _ = strings.Cut(word, ":")
		}
	}
	return connect.CommandLine(words)
}

// add counts a row for its server. It skips a row that the process before this recorder recorded too.
func (seen *seenOnes) add(r *rows.Row) {
	head := r.Head()
	if r.Target == "" || head.IsNested || rows.IsByServer(r) {
		return
	}
	s := seen.serverOf(r.Target, head.Argv)
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

// serverOf returns the server with the target of a recording. argv is the command line of the recorder.
// If several known servers have the target, serverOf returns a server for all of them.
func (seen *seenOnes) serverOf(name string, argv []string) *seenServer {
	if s := seen.byName[name]; s != nil {
		return s
	}
	var candidates []*seenServer
	if len(argv) > 2 {
		candidates = seen.byLine[ownLine(argv)]
	}
	if len(candidates) == 0 {
		candidates = seen.byPlace[name]
	}
	if len(candidates) == 1 {
		return candidates[0]
	}
	ids := sliceutil.Map(candidates, func(s *seenServer) string { return s.ID })
	key := strings.Join(append([]string{name}, ids...), "\n")
	if seen.others[key] == nil {
		s := &seenServer{ID: name, Also: ids, Clients: []string{}, isShared: len(ids) > 0}
		seen.others[key] = s
		seen.servers = append(seen.servers, s)
	}
	return seen.others[key]
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

// write writes a line for each server. A table for people has no column for all requests, and the
// number of clients: it fits in 80 columns.
func (seen *seenOnes) write(w io.Writer, st term.Style, now time.Time) error {
	var cells [][]string
	for _, s := range seen.servers {
		calls := s.calls.All()
		row := []string{s.title(), strconv.Itoa(calls.Count), strconv.Itoa(failureCount(calls)), "-", "-"}
		if calls.Timed() > 0 {
			row[3] = term.Duration(calls.Percentile(50))
			row[4] = term.Duration(calls.Percentile(95))
		}
		lastUsed := "never"
		if st.Pretty() {
			if !s.LastUsed.IsZero() {
				lastUsed = english.Ago(now, s.LastUsed)
			}
			row = append(row, lastUsed, strconv.Itoa(len(s.Clients)))
		} else {
			requests := s.requests.All()
			if !s.LastUsed.IsZero() {
				lastUsed = s.LastUsed.Format(time.DateTime)
			}
			row = append(row, strconv.Itoa(requests.Count), strconv.Itoa(failureCount(requests)), lastUsed,
				strings.Join(s.Clients, ", "))
		}
		cells = append(cells, row)
	}
	return term.Table(w, st, []string{"SERVER", "CALLS", "FAILED", "P50", "P95", "LAST USED", "CLIENTS"}, cells)
}

// title returns the ids of the server, or of the known servers that share the traffic.
func (s *seenServer) title() string {
	if s.isShared {
		return strings.Join(s.Also, ", ")
	}
	return strings.Join(append([]string{s.ID}, s.Also...), ", ")
}

// failureCount returns how many rows of a group failed.
func failureCount(g *rows.Group) int {
	count := 0
	for _, failure := range g.Failures() {
		count += failure.Count
	}
	return count
}
