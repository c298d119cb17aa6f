// Package card parses documents that describe MCP servers (server cards, registry entries and AI
// catalogs), and resolves a described server to a URL or a command. Documents are written by others
// and not trusted: this package runs, sends and reads nothing. It is a separate package, so that
// the imports show this.
package card

import (
	"fmt"
	"mime"
	"regexp"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
)

// The media types of documents.
const (
	CardType    = "application/mcp-server-card+json"
	CatalogType = "application/ai-catalog+json"
)

// An Error says why a document, or a server in it, cannot be used.
type Error struct {
	Text string
	// Refused is set if the document is valid and mcpc does not do what it requires.
	Refused bool
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// malformed returns the error for a document that breaks its format.
func malformed(format string, args ...any) *Error { return &Error{Text: fmt.Sprintf(format, args...)} }

// refused returns the error for a document that requires what mcpc does not do.
func refused(format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...), Refused: true}
}

// A Document has the contents of one file or response: servers, or the entries of a catalog.
type Document struct {
	Servers []Server
	// IsCatalog is set for an AI catalog. Entries are the entries that may lead to an MCP server,
	// Skipped the number of other entries.
	IsCatalog bool
	Entries   []Entry
	Skipped   int
}

// An Entry is an entry of an AI catalog. Either URL or Data is set.
type Entry struct {
	ID, Name, Version, URL string
	Data                   []byte
}

// String returns the entry as a line of a list.
func (e Entry) String() string {
	return strings.Join(strings.Fields(e.ID+" "+e.Version+" "+e.Name+" "+e.URL), " ")
}

// A Server is a server that a document describes.
type Server struct {
	Name, Title, Version string
	// Status and StatusMessage are from the registry: deprecated, deleted, or "".
	Status, StatusMessage string
	// Choices are the ways to use the server, first the remote ones.
	Choices []Choice
}

// A Choice is one way to use a server: a remote endpoint or a package.
type Choice struct {
	// IsRemote is set for an endpoint.
	IsRemote bool
	// Revisions are the protocol revisions that the card lists for the endpoint.
	Revisions []string

	members jsonraw.Members
	// joinsFlags is set if a named argument is one word, --flag=value.
	joinsFlags bool
	// isCard is set for a package in a server card, which may have no packages.
	isCard bool
}

// officialMeta is the member of _meta with the registry's status of an entry.
const officialMeta = "io.modelcontextprotocol.registry/official"

// Parse parses a document: a catalog has the member entries, a registry's response the member
// servers, and any other document describes one server.
func Parse(raw []byte) (Document, error) {
	if bad := jsonraw.Valid(raw); bad != nil {
		return Document{}, malformed("the document is not JSON: %s", bad)
	}
	if name := jsonraw.DuplicateIn(raw); name != "" {
		return Document{}, malformed("the member %s occurs twice", name)
	}
	top, bad := jsonraw.Object(raw)
	if bad != nil {
		return Document{}, malformed("the document is not a JSON object")
	}
	servers, isList := top.Get("servers")
	entries, isCatalog := top.Get("entries")
	if isCatalog {
		return parseCatalog(entries)
	}
	if isList {
		return parseList(servers)
	}
	server, err := parseServer(top)
	return Document{Servers: []Server{server}}, err
}

// parseCatalog parses the entries of an AI catalog. It counts entries of other types.
func parseCatalog(raw []byte) (Document, error) {
	doc := Document{IsCatalog: true}
	items, bad := jsonraw.Array(raw)
	if bad != nil {
		return doc, malformed("the entries of the catalog are not a list")
	}
	for _, item := range items {
		m, _ := jsonraw.Object(item)
		if kind, _, _ := mime.ParseMediaType(m.Text("type")); kind != CardType && kind != CatalogType {
			doc.Skipped++
			continue
		}
		data, hasData := m.Get("data")
		e := Entry{
			ID:      m.Text("identifier"),
			Name:    m.Text("displayName"),
			Version: m.Text("version"),
			URL:     m.Text("url"),
			Data:    data,
		}
		hasURL := e.URL != ""
		if hasData == hasURL {
			return doc, malformed("the catalog's entry %q must have either url or data", e.ID)
		}
		doc.Entries = append(doc.Entries, e)
	}
	return doc, nil
}

// parseList parses a registry's response to a search.
func parseList(raw []byte) (doc Document, err error) {
	items, bad := jsonraw.Array(raw)
	if bad != nil {
		return doc, malformed("servers is not a list")
	}
	for _, item := range items {
		m, _ := jsonraw.Object(item)
		server, err := parseServer(m)
		if err != nil {
			return doc, err
		}
		doc.Servers = append(doc.Servers, server)
	}
	if len(items) == 0 {
		return doc, malformed("its list of servers is empty")
	}
	return doc, nil
}

// parseServer parses a server card or a registry entry. In a registry's response the entry is the
// member "server".
func parseServer(m jsonraw.Members) (Server, error) {
	outer := m // has the registry's facts about the entry
	if inner, ok := m.Get("server"); ok {
		m, _ = jsonraw.Object(inner)
	}
	detail, _ := jsonraw.Object(memberByName(m, "versionDetail")) // older files have the version there
	s := Server{Name: m.Text("name"), Title: m.Text("title"), Version: m.Text("version"), Status: m.Text("status")}
	if s.Version == "" {
		s.Version = detail.Text("version")
	}
	meta, _ := jsonraw.Object(outer.Value("_meta"))
	official, _ := jsonraw.Object(meta.Value(officialMeta))
	if status := official.Text("status"); status != "" {
		s.Status = status
		s.StatusMessage = official.Text("statusMessage")
	}
	if s.Status == "active" {
		s.Status = ""
	}
	if len(s.Name) > maxNameLength || !serverName().MatchString(s.Name) {
		return s, malformed("the document is not a server card, a registry entry or an AI catalog: " +
			"its name is not of the form NAMESPACE/NAME")
	}
	var err error
	s.Choices, err = parseChoices(m)
	if err != nil {
		return s, err
	}
	if len(s.Choices) == 0 {
		return s, malformed("%s has neither remotes nor packages", s.Name)
	}
	return s, nil
}

// parseChoices returns the ways to use a server: its remotes, then its packages.
func parseChoices(m jsonraw.Members) ([]Choice, error) {
	schema := m.Text("$schema")
	// Since the schema of 2025-12-11 a named argument is one word, --flag=value. Before, and without a
	// schema, it is two.
	date := schemaDate().FindStringSubmatch(schema)
	joinsFlags := date != nil && date[1] >= "2025-12-11" // "draft" is greater, too
	isCard := strings.HasSuffix(schema, "/server-card.schema.json")
	var choices []Choice
	for _, list := range []string{"remotes", "packages"} {
		items, bad := jsonraw.Array(jsonraw.OrNull(m.Value(list)))
		if bad != nil && m.Value(list) != nil {
			return choices, malformed("%s is not a list", list)
		}
		for _, item := range items {
			members, bad := jsonraw.Object(item)
			if bad != nil {
				return choices, malformed("an item of %s is not an object", list)
			}
			c := Choice{IsRemote: list == "remotes", members: members, joinsFlags: joinsFlags, isCard: isCard}
			c.Revisions = stringItems(members.Value("supportedProtocolVersions"))
			choices = append(choices, c)
		}
	}
	return choices, nil
}

// maxNameLength limits a server's name in bytes.
const maxNameLength = 200

var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`) })

var schemaDate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/(\d{4}-\d{2}-\d{2}|draft)/server\.schema\.json$`)
})

// memberByName returns a member by its name, or by the name in snake_case of files before September
// 2025. It returns nil if there is no such member.
func memberByName(m jsonraw.Members, name string) []byte {
	if raw, ok := m.Get(name); ok {
		return raw
	}
	var snake strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			snake.WriteByte('_')
			r += 'a' - 'A'
		}
		snake.WriteRune(r)
	}
	return m.Value(snake.String())
}

// textMember returns a text member, by either form of its name.
func textMember(m jsonraw.Members, name string) string {
	s, _ := jsonraw.Text(memberByName(m, name))
	return s
}

// stringItems returns the texts of a list.
func stringItems(raw []byte) []string {
	items, _ := jsonraw.Array(jsonraw.OrNull(raw))
	var all []string
	for _, item := range items {
		if s, ok := jsonraw.Text(item); ok {
			all = append(all, s)
		}
	}
	return all
}

// objectItems returns the items of a list of objects.
func objectItems(raw []byte) (all []jsonraw.Members, err error) {
	if raw == nil {
		return nil, nil
	}
	items, bad := jsonraw.Array(raw)
	if bad != nil {
		return nil, malformed("a list of arguments, variables or header fields is not a list")
	}
	if len(items) > maxArguments {
		return nil, refused("it has a list of more than %d arguments, variables or header fields", maxArguments)
	}
	for _, item := range items {
		m, bad := jsonraw.Object(item)
		if bad != nil {
			return nil, malformed("an argument, a variable or a header field is not an object")
		}
		all = append(all, m)
	}
	return all, nil
}
