package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/card"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect/host"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

const (
	// maxBytes limits a document in a file; auth.Net has the same limit for a URL.
	maxBytes = 1 << 20
	// maxDepth is how many catalogs may be nested.
	maxDepth = 4
)

// wellKnown are the paths that are tried at a host. All except the first are outdated.
var wellKnown = []string{
	"/.well-known/ai-catalog.json",
	"/.well-known/mcp/catalog.json",
	"/.well-known/mcp/server-card.json",
	"/.well-known/mcp.json",
}

// accepted is the Accept field of requests for documents.
const accepted = card.CatalogType + ", " + card.CardType + ", application/json;q=0.5"

// A FoundCard is a server that a document describes.
type FoundCard struct {
	Server card.Server
	// From is the file or URL of the document, without secrets.
	From string
	// Several are the lines of a list to choose from. It is nil if there was only one server.
	Several []string
	// Prefix precedes the numbers of the ways to use the server: the numbers that were chosen before.
	Prefix string

	net *auth.Net
}

// A loader follows a source to the document of a server.
type loader struct {
	env *host.Env
	net *auth.Net
	// picks are the numbers of --pick that are not used yet.
	picks   []int
	visited []string
	// fromFile is set if a file of the user names the URLs.
	fromFile bool
	// path are the numbers that were chosen so far.
	path []string
}

// LoadCard reads a document from a file, URL or host, and follows its catalogs to a server. pick has
// the numbers of the entries to follow if a document has several, such as 2.1, or is "". It returns
// the numbers of pick that are left, which select a way to use the server.
func LoadCard(ctx context.Context, e *host.Env, source, pick string) (FoundCard, []int, wire.Outcome) {
	l := &loader{env: e}
	for _, word := range strings.FieldsFunc(pick, func(r rune) bool { return r == '.' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			err := usage.New(fmt.Sprintf("--pick %q is not a number of the list", pick),
				"--pick 1, or --pick 2.1 for an entry of an entry")
			return FoundCard{}, nil, usage.Outcome(err)
		}
		l.picks = append(l.picks, n)
	}
	raw, from, out := l.read(ctx, source)
	if !out.OK() {
		return FoundCard{}, nil, out
	}
	const firstDepth = 1
	f, out := l.resolve(ctx, raw, from, firstDepth) // takes numbers from l.picks and adds them to l.path
	f.net = l.net
	if len(l.path) > 0 {
		f.Prefix = strings.Join(l.path, ".") + "."
	}
	return f, l.picks, out
}

// number returns the number of line i of a list, in the form of --pick.
func (l *loader) number(i int) string {
	return strings.Join(append(slices.Clone(l.path), strconv.Itoa(i+1)), ".")
}

var hostPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|\[[0-9a-fA-F:]+\])(:\d+)?$`)
})

// read reads the document that the user names. from is its absolute path, or the URL that it was
// fetched from. A word that is the name of a host is a host unless there is such a file.
func (l *loader) read(ctx context.Context, source string) (raw []byte, from string, out wire.Outcome) {
	_, statErr := os.Stat(source)
	if strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://") {
		got, out := l.fetch(ctx, source)
		if out.OK() && got.Status != http.StatusOK {
			out = missingDocument(source, fmt.Sprintf("the URL of the card returned HTTP %d", got.Status))
		}
		return got.Raw, got.URL, out
	}
	if statErr != nil && hostPattern().MatchString(source) && filepath.Ext(source) != ".json" {
		return l.fetchFromHost(ctx, source)
	}
	if strings.Contains(source, "://") {
		err := usage.New("--card takes a file, an https URL or a host", "a file is named by its path")
		return nil, "", usage.Outcome(err)
	}
	l.fromFile = true
	raw, err := l.env.ReadFile(source, maxBytes)
	if err != nil {
		return nil, "", usage.Outcome(usage.NotRead("--card "+source, err, "it takes a file, an https URL or a host"))
	}
	if full, err := filepath.Abs(source); err == nil {
		source = full
	}
	return raw, source, wire.Outcome{}
}

// fetchFromHost tries the well-known paths at a host, first the current one.
func (l *loader) fetchFromHost(ctx context.Context, name string) (raw []byte, from string, out wire.Outcome) {
	scheme := "https://"
	if auth.IsLocal("http://" + name) {
		scheme = "http://"
	}
	for i, path := range wellKnown {
		got, out := l.fetch(ctx, scheme+name+path)
		if !out.OK() {
			return nil, "", out
		}
		isMissing := got.Status == http.StatusNotFound || got.Status == http.StatusGone
		if isMissing || !strings.Contains(got.Type, "json") { // many sites answer every address with a page
			continue
		}
		if got.Status != http.StatusOK {
			return nil, "", missingDocument(got.URL, fmt.Sprintf("the host returned HTTP %d", got.Status))
		}
		if i > 0 {
			l.env.UI.Warn(name + " has its card at " + path + ", which is outdated: the address is " + wellKnown[0])
		}
		return got.Raw, got.URL, wire.Outcome{}
	}
	return nil, "", missingDocument(name, "the host has no AI catalog and no server card at its well-known addresses")
}

// fetch fetches a URL. It refuses a URL that was fetched before, because the catalog contains itself
// then. The outcome is OK for each HTTP status: the caller has to check it.
func (l *loader) fetch(ctx context.Context, where string) (auth.Fetched, wire.Outcome) {
	if l.net == nil { // the first URL decides which networks the whole catalog may name
		w, err := l.env.NetworkFor(where, nil) // nil: no session has stored network settings
		if err != nil {
			return auth.Fetched{}, usage.Outcome(err)
		}
		nearness := auth.Loopback // the user's own file may name each network
		if !l.fromFile {
			nearness = auth.NearnessOf(ctx, where)
		}
		network := w.ForAuth()
		network.Limit = l.env.Limits.Idle
		l.net = auth.NewNet(nearness, network)
	}
	l.env.Secrets.LearnURL(where)
	if slices.Contains(l.visited, where) {
		return auth.Fetched{}, unusableDocument(where, "the catalog leads to itself", wire.Refused)
	}
	l.visited = append(l.visited, where)
	got, err := l.net.Fetch(ctx, where, accepted)
	failed, ok := errors.AsType[*auth.Error](err)
	if ctx.Err() != nil {
		return got, wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	}
	if ok {
		return got, unusableDocument(where, failed.Text, failed.Kind())
	}
	if got.TooLarge {
		return got, unusableDocument(where, "answered with more than 1 MiB", wire.BadResponse)
	}
	if l.env.Verbose > 0 {
		kind := got.Type
		if kind == "" {
			kind = "without a Content-Type"
		}
		l.env.UI.Note(fmt.Sprintf("card: %s returned HTTP %d, %s", redact.RedactURL(got.URL), got.Status, kind))
	}
	return got, wire.Outcome{}
}

// unusableDocument returns the outcome of that kind for a document at from without a usable server.
// A document in a file is a part of the arguments.
func unusableDocument(from, text string, kind wire.Kind) wire.Outcome {
	o := wire.Outcome{
		Kind:       kind,
		Text:       jsonraw.Excerpt([]byte(text), host.MostSaid),
		ServerName: redact.RedactURL(from),
		Phase:      "card",
	}
	switch kind {
	case wire.Usage: // a file of the user, or --pick
		o.Phase = "arguments"
	case wire.BadResponse:
		o.Hint = "it must be a server card, a registry entry or an AI catalog, of at most 1 MiB"
	}
	return o
}

// missingDocument returns the outcome for a URL or host that responded without a document. text says
// how. The failure is of the step before the command's operation, which was not sent.
func missingDocument(from, text string) wire.Outcome {
	o := unusableDocument(from, text, wire.Transport)
	o.Reached = wire.Answered
	o.Hint = "--card takes the URL of a card itself, a host that publishes one, or a file"
	return o.WithPart(wire.BeforeOperation)
}

// CardFailed returns the outcome for an error of package card about the document at from.
func CardFailed(from string, err error) wire.Outcome {
	failed, ok := errors.AsType[*card.Error](err)
	if !ok {
		return usage.Outcome(err)
	}
	if failed.Refused {
		return unusableDocument(from, failed.Text, wire.Refused)
	}
	if strings.Contains(from, "://") { // a server sent it
		return unusableDocument(from, failed.Text, wire.BadResponse)
	}
	return unusableDocument(from, failed.Text, wire.Usage)
}

// resolve parses the document raw, which was read from a file or URL, and follows its catalog's
// entries to a server. If --pick has no number for a list, or one that is not in the list, the
// FoundCard has the list in Several and no Server. depth counts the nested documents, from 1.
func (l *loader) resolve(ctx context.Context, raw []byte, from string, depth int) (FoundCard, wire.Outcome) {
	f := FoundCard{From: redact.RedactURL(from)}
	if depth > maxDepth {
		return f, unusableDocument(from, fmt.Sprintf("the catalogs are nested more than %d deep", maxDepth), wire.Refused)
	}
	doc, err := card.Parse(raw)
	if err != nil {
		return f, CardFailed(from, err)
	}
	var lines []string
	for _, s := range doc.Servers {
		lines = append(lines, strings.TrimSpace(s.Name+" "+s.Version+" "+s.Status))
	}
	for _, e := range doc.Entries {
		lines = append(lines, e.String())
	}
	if doc.IsCatalog && len(lines) == 0 {
		others := english.Plural(doc.Skipped, "item")
		return f, CardFailed(from, &card.Error{Text: "the catalog has no MCP server, and " + others + " of other types"})
	}
	picked := 0
	if len(lines) > 1 { // a list of one uses up no number of --pick
		var out wire.Outcome
		picked, out = l.nextPick(from, lines)
		if picked < 0 {
			for n, line := range lines[:min(len(lines), maxLines)] {
				f.Several = append(f.Several, l.number(n)+"\t"+line)
			}
			return f, out
		}
	}
	if !doc.IsCatalog {
		f.Server = doc.Servers[picked]
		return f, wire.Outcome{}
	}
	e := doc.Entries[picked]
	if e.Data != nil { // the catalog contains the entry's document
		return l.resolve(ctx, e.Data, from, depth+1)
	}
	got, out := l.fetch(ctx, e.URL)
	if out.OK() && got.Status != http.StatusOK {
		out = missingDocument(e.URL, fmt.Sprintf("the URL of the catalog's entry returned HTTP %d", got.Status))
	}
	if !out.OK() {
		return f, out
	}
	return l.resolve(ctx, got.Raw, got.URL, depth+1)
}

// nextPick takes the next number of --pick and returns it as an index of lines. It returns -1 and OK
// if no number is left, and -1 and a failure if the number is not in the list.
func (l *loader) nextPick(from string, lines []string) (int, wire.Outcome) {
	if len(l.picks) == 0 {
		return -1, wire.Outcome{}
	}
	n := l.picks[0]
	if n > len(lines) {
		text := fmt.Sprintf("--pick %s: there are %d to choose from", l.number(n-1), len(lines))
		return -1, unusableDocument(from, text, wire.Usage)
	}
	l.picks = l.picks[1:]
	l.path = append(l.path, strconv.Itoa(n))
	return n - 1, wire.Outcome{}
}

// maxLines limits a list to choose from.
const maxLines = 100

// Permitted returns an outcome that is not OK for a URL that the document may not name: a document
// of a public host may not name a private network.
func (f FoundCard) Permitted(ctx context.Context, where string) wire.Outcome {
	u, err := url.Parse(where)
	if f.net == nil || err != nil || u.Hostname() == "" { // where may be "", or have an input as its host
		return wire.Outcome{}
	}
	if failed, ok := errors.AsType[*auth.Error](f.net.Permit(ctx, u)); ok {
		return unusableDocument(f.From, failed.Text, failed.Kind())
	}
	return wire.Outcome{}
}
