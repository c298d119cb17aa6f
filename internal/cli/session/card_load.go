package session

import (
	"cmp"
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
	// mostBytes bounds a document, which a URL has as well.
	mostBytes = 1 << 20
	// deepest is how many catalogs may be inside one another.
	deepest = 4
)

// wellKnown are the addresses that are tried at a host. All but the first are outdated.
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
	// Several are the lines of a list to choose from; nil where there was one server.
	Several []string
	// Prefix precedes the numbers of the ways to use the server: those that were chosen before.
	Prefix string

	net *auth.Net
}

// A loader follows one source to a server.
type loader struct {
	env     *host.Env
	net     *auth.Net
	picks   []int
	visited []string
	// fromFile is set where the user's own file names the URLs.
	fromFile bool
	// path are the numbers that were chosen so far.
	path []string
}

// LoadCard reads source: a file, a URL, or a host. pick is the numbers of the entries to follow where
// a document has several, such as 2.1; "" chooses none. What is left of pick is returned: it is
// for the ways to use the server.
func LoadCard(ctx context.Context, e *host.Env, source, pick string) (FoundCard, []int, wire.Outcome) {
	l := &loader{env: e}
	for _, word := range strings.FieldsFunc(pick, func(r rune) bool { return r == '.' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return FoundCard{}, nil, usage.Outcome(
				usage.New(
					fmt.Sprintf("--pick %q is not a number of the list", pick),
					"--pick 1, or --pick 2.1 for an entry of an entry",
				),
			)
		}
		l.picks = append(l.picks, n)
	}
	raw, from, out := l.source(ctx, source)
	if !out.Good() {
		return FoundCard{}, nil, out
	}
	f, out := l.follow(ctx, raw, from, 1)
	f.net = l.net
	if len(l.path) > 0 {
		f.Prefix = strings.Join(l.path, ".") + "."
	}
	return f, l.picks, out
}

// Number is the number of line i of a list, as --pick takes it.
func (l *loader) number(i int) string {
	return strings.Join(append(slices.Clone(l.path), strconv.Itoa(i+1)), ".")
}

var hostWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|\[[0-9a-fA-F:]+\])(:\d+)?$`)
})

// source reads what the user named.
func (l *loader) source(ctx context.Context, source string) (raw []byte, from string, out wire.Outcome) {
	_, statErr := os.Stat(source)
	if strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://") {
		got, out := l.get(ctx, source)
		if out.Good() && got.Status != http.StatusOK {
			out = missing(source, fmt.Sprintf("the URL of the card answered HTTP %d", got.Status))
		}
		return got.Raw, got.URL, out
	}
	if statErr != nil && hostWord().MatchString(source) && filepath.Ext(source) != ".json" {
		return l.atHost(ctx, source)
	}
	if strings.Contains(source, "://") {
		return nil, "", usage.Outcome(usage.New("--card takes a file, an https URL or a host", "a file is named by its path"))
	}
	l.fromFile = true
	raw, err := l.env.ReadFile(source, mostBytes)
	if err != nil {
		return nil, "", usage.Outcome(usage.NotRead("--card "+source, err, "it takes a file, an https URL or a host"))
	}
	if full, err := filepath.Abs(source); err == nil {
		source = full
	}
	return raw, source, wire.Outcome{}
}

// atHost tries the well-known addresses of a host, the current one first.
func (l *loader) atHost(ctx context.Context, name string) (raw []byte, from string, out wire.Outcome) {
	scheme := "https://"
	if auth.IsLocal("http://" + name) {
		scheme = "http://"
	}
	for i, path := range wellKnown {
		got, out := l.get(ctx, scheme+name+path)
		switch {
		case !out.Good():
			return nil, "", out
		case got.Status == http.StatusNotFound, got.Status == http.StatusGone, !strings.Contains(got.Type, "json"):
			continue // many sites answer every address with a page
		case got.Status != http.StatusOK:
			return nil, "", missing(got.URL, fmt.Sprintf("the host answered HTTP %d", got.Status))
		case i > 0:
			l.env.UI.Warn(name + " has its card at " + path + ", which is outdated: the address is " + wellKnown[0])
		}
		return got.Raw, got.URL, wire.Outcome{}
	}
	return nil, "", missing(name, "the host has no AI catalog and no server card at its well-known addresses")
}

// get fetches a URL once.
func (l *loader) get(ctx context.Context, where string) (auth.Fetched, wire.Outcome) {
	if l.net == nil {
		w, err := l.env.NetworkFor(where, nil)
		if err != nil {
			return auth.Fetched{}, usage.Outcome(err)
		}
		near := auth.Loopback
		if !l.fromFile {
			near = auth.NearnessOf(ctx, where)
		}
		way := w.ForAuth()
		way.Limit = l.env.Limits.Idle
		l.net = auth.NewNet(near, way)
	}
	l.env.Secrets.LearnURL(where)
	if slices.Contains(l.visited, where) {
		return auth.Fetched{}, unusable(where, "the catalog leads to itself", wire.Refused)
	}
	l.visited = append(l.visited, where)
	got, err := l.net.Fetch(ctx, where, accepted)
	switch failed, ok := errors.AsType[*auth.Error](err); {
	case ctx.Err() != nil:
		return got, wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	case ok:
		return got, unusable(where, failed.Text, failed.Kind())
	case got.TooLarge:
		return got, unusable(where, "answered with more than 1 MiB", wire.BadResponse)
	}
	if l.env.Verbose > 0 {
		l.env.UI.Note(
			fmt.Sprintf(
				"card: %s answered HTTP %d, %s",
				redact.RedactURL(got.URL),
				got.Status,
				cmp.Or(got.Type, "without a Content-Type"),
			),
		)
	}
	return got, wire.Outcome{}
}

// unusable is the ending where a document leads to no server.
func unusable(from, text string, kind wire.Kind) wire.Outcome {
	o := wire.Outcome{
		Kind:  kind,
		Text:  jsonraw.Excerpt([]byte(text), host.MostSaid),
		Where: redact.RedactURL(from),
		Phase: "card",
	}
	switch kind {
	case wire.Usage:
		o.Phase = "arguments"
	case wire.BadResponse:
		o.Hint = "it must be a server card, a registry entry or an AI catalog, of at most 1 MiB"
	}
	return o
}

// missing is the ending where an answer has no document.
func missing(from, text string) wire.Outcome {
	o := unusable(from, text, wire.Transport)
	o.Reached = wire.Answered
	o.Hint = "--card takes the URL of a card itself, a host that publishes one, or a file"
	return o.As(wire.Before)
}

// CardFailed is the ending for an error of package card about the document at from.
func CardFailed(from string, err error) wire.Outcome {
	failed, ok := errors.AsType[*card.Error](err)
	if !ok {
		return usage.Outcome(err)
	}
	if failed.Refused {
		return unusable(from, failed.Text, wire.Refused)
	}
	if strings.Contains(from, "://") {
		return unusable(from, failed.Text, wire.BadResponse)
	}
	return unusable(from, failed.Text, wire.Usage)
}

// follow reads a document, and those that its catalog leads to.
func (l *loader) follow(ctx context.Context, raw []byte, from string, depth int) (FoundCard, wire.Outcome) {
	f := FoundCard{From: redact.RedactURL(from)}
	if depth > deepest {
		return f, unusable(from, fmt.Sprintf("more than %d catalogs are inside one another", deepest), wire.Refused)
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
		return f, CardFailed(
			from,
			&card.Error{
				Text: fmt.Sprintf("the catalog has no MCP server, and %s of other types", english.Plural(doc.Skipped, "item")),
			},
		)
	}
	i := 0
	if len(lines) > 1 {
		var out wire.Outcome
		i, out = l.choose(from, lines)
		if i < 0 {
			for n, line := range lines[:min(len(lines), mostLines)] {
				f.Several = append(f.Several, l.number(n)+"\t"+line)
			}
			return f, out
		}
	}
	if !doc.IsCatalog {
		f.Server = doc.Servers[i]
		return f, wire.Outcome{}
	}
	e := doc.Entries[i]
	if e.Data != nil {
		return l.follow(ctx, e.Data, from, depth+1)
	}
	got, out := l.get(ctx, e.URL)
	if out.Good() && got.Status != http.StatusOK {
		out = missing(e.URL, fmt.Sprintf("the URL of the catalog's entry answered HTTP %d", got.Status))
	}
	if !out.Good() {
		return f, out
	}
	return l.follow(ctx, got.Raw, got.URL, depth+1)
}

// choose takes the next number of --pick; -1 is none, or one that is not in the list.
func (l *loader) choose(from string, lines []string) (int, wire.Outcome) {
	if len(l.picks) == 0 {
		return -1, wire.Outcome{}
	}
	n := l.picks[0]
	if n > len(lines) {
		return -1, unusable(
			from,
			fmt.Sprintf("--pick %s: there are %d to choose from", l.number(n-1), len(lines)),
			wire.Usage,
		)
	}
	l.picks, l.path = l.picks[1:], append(l.path, strconv.Itoa(n))
	return n - 1, wire.Outcome{}
}

// mostLines bounds a list to choose from.
const mostLines = 100

// Permitted refuses a URL that the document may not name: one in a private network, where the
// document is from a public host.
func (f FoundCard) Permitted(ctx context.Context, where string) wire.Outcome {
	u, err := url.Parse(where)
	if f.net == nil || err != nil || u.Hostname() == "" { // a command, or a host that an input names
		return wire.Outcome{}
	}
	if failed, ok := errors.AsType[*auth.Error](f.net.Permit(ctx, u)); ok {
		return unusable(f.From, failed.Text, failed.Kind())
	}
	return wire.Outcome{}
}
