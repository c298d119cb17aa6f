package session_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mcpc/internal/cli/session"
	"mcpc/internal/tests/connecttest"
	"mcpc/internal/wire"
)

const remote = `{"name":"com.example/r","version":"1.0.0",
	"remotes":[{"type":"streamable-http","url":"https://r.example/mcp"}]}`

// entry is an entry of a catalog; where is a URL or a document.
func entry(name, where string) string {
	const card, catalog = "application/mcp-server-card+json", "application/ai-catalog+json"
	kind := card
	if strings.Contains(name, "catalog") {
		kind = catalog
	}
	member := "data"
	if !strings.HasPrefix(where, "{") {
		member, where = "url", strconv.Quote(where)
	}
	return fmt.Sprintf(`{"identifier":%q,"displayName":%q,"type":%q,%q:%s}`, name, name, kind, member, where)
}

func catalog(entries ...string) string {
	return `{"specVersion":"1.0","entries":[` + strings.Join(entries, ",") + `]}`
}

func named(name string) string {
	return strings.Replace(remote, "com.example/r", "com.example/"+name, 1)
}

// inside puts a document into n catalogs, one inside another.
func inside(n int, document string) string {
	for range n {
		document = catalog(entry("catalog", document))
	}
	return document
}

// A file leads to a server: its only one, or the one that --pick names, through catalogs inside of it.
func TestLoadAFile(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 120 {
		many = append(many, entry(fmt.Sprint("e", i+1), remote))
	}
	nested := catalog(entry("a", named("a")), entry("catalog", catalog(entry("b", named("b")), entry("c", named("c")))))
	for _, c := range []struct {
		name, document, pick string
		want                 string // the server, its prefix, or how many lines there are to choose from
		left                 []int
		says                 string
		kind                 wire.Kind
	}{
		{name: "a card", document: remote, want: "com.example/r"},
		{name: "a number for its choices", document: remote, pick: "2", want: "com.example/r", left: []int{2}},
		{name: "a catalog of one", document: catalog(entry("a", named("a"))), want: "com.example/a"},
		{name: "a catalog of two", document: nested, want: "2 lines"},
		{name: "the first", document: nested, pick: "1", want: "com.example/a 1."},
		{name: "the second is a catalog", document: nested, pick: "2", want: "2 lines 2."},
		{name: "an entry of an entry", document: nested, pick: "2.2", want: "com.example/c 2.2."},
		{name: "and its choice", document: nested, pick: "2.2.1", want: "com.example/c 2.2.", left: []int{1}},
		{
			name: "no such entry", document: nested, pick: "3", want: "2 lines", says: "--pick 3: there are 2 to choose from",
			kind: wire.Usage, left: []int{3},
		},
		{
			name: "no such entry inside", document: nested, pick: "2.3", want: "2 lines 2.", left: []int{3},
			says: "--pick 2.3: there are 2 to choose from", kind: wire.Usage,
		},
		{name: "no number", document: nested, pick: "x", says: `--pick "x" is not a number of the list`, kind: wire.Usage},
		{name: "zero", document: nested, pick: "1.0", says: `--pick "1.0" is not a number of the list`, kind: wire.Usage},
		{name: "a long list", document: catalog(many...), want: "100 lines"},
		{name: "three catalogs", document: inside(3, named("a")), want: "com.example/a"},
		{
			name: "too many catalogs", document: inside(4, named("a")),
			says: "the catalogs are nested more than 4 deep", kind: wire.Refused,
		},
		{
			name: "nothing for MCP", document: catalog(`{"identifier":"x","type":"text/plain","url":"https://x"}`),
			says: "the catalog has no MCP server, and 1 item of other types", kind: wire.Usage,
		},
		{name: "no card", document: `{"a":1}`, kind: wire.Usage},
		{name: "no JSON", document: `{`, kind: wire.Usage},
	} {
		file := filepath.Join(t.TempDir(), "card.json")
		if err := os.WriteFile(file, []byte(c.document), 0o600); err != nil {
			t.Fatal(err)
		}
		env, _ := connecttest.Env(t, "")
		f, left, out := session.LoadCard(t.Context(), env, file, c.pick)
		got := f.Server.Name
		if f.Several != nil {
			got = strconv.Itoa(len(f.Several)) + " lines"
		}
		got = strings.TrimSpace(got + " " + f.Prefix)
		if got != c.want || out.Kind != c.kind || !strings.Contains(out.Text, c.says) || !slices.Equal(left, c.left) {
			t.Errorf("%s: got %q, %v left, %s %s", c.name, got, left, out.Kind, out.Text)
		}
		if out.OK() && f.From != file {
			t.Errorf("%s: from %s", c.name, f.From)
		}
	}
}

// The lines of a list have the numbers that --pick takes.
func TestListsAreNumbered(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "card.json")
	document := catalog(entry("a", named("a")), entry("catalog", catalog(entry("b", named("b")), entry("c", named("c")))))
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	env, _ := connecttest.Env(t, "")
	for pick, want := range map[string][]string{"": {"1\ta a", "2\tcatalog catalog"}, "2": {"2.1\tb b", "2.2\tc c"}} {
		f, _, _ := session.LoadCard(t.Context(), env, file, pick)
		if !slices.Equal(f.Several, want) {
			t.Errorf("--pick %q: %q", pick, f.Several)
		}
	}
}

// A site has documents by their path: a status, a type and a text.
type site map[string][3]string

// serve serves a site on the loopback, and returns its host. HOST in a document is that host.
func (s site) serve(t *testing.T) (host string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := s[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		status, _ := strconv.Atoi(answer[0])
		w.Header().Set("Content-Type", answer[1])
		w.WriteHeader(status)
		fmt.Fprint(w, strings.ReplaceAll(answer[2], "HOST", r.Host))
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// A host has its card at a well-known address: the current one, else an outdated one with a warning.
func TestLoadAHost(t *testing.T) {
	t.Parallel()
	const current = "/.well-known/ai-catalog.json"
	const older, oldest = "/.well-known/mcp/server-card.json", "/.well-known/mcp.json"
	const none = "the host has no AI catalog and no server card"
	const jsonType, pageType = "application/json", "text/html"
	for _, c := range []struct {
		name  string
		site  site
		want  string
		shown string
		says  string
	}{
		{"the current address", site{
			current: {"200", jsonType, catalog(entry("a", "http://HOST/card"))}, "/card": {"200", jsonType, remote},
		}, "com.example/r", "", ""},
		{
			"an outdated one",
			site{older: {"200", jsonType, remote}},
			"com.example/r",
			" has its card at " + older + ", which is outdated: the address is " + current, "",
		},
		{
			"the newest outdated one",
			site{"/.well-known/mcp/catalog.json": {"200", jsonType, remote}},
			"com.example/r",
			"/.well-known/mcp/catalog.json, which is outdated", "",
		},
		{"a page for every address", site{
			current: {"200", pageType, "<p>"}, older: {"404", jsonType, ""}, oldest: {"200", jsonType, remote},
		}, "com.example/r", "/.well-known/mcp.json, which is outdated", ""},
		{"gone", site{current: {"410", jsonType, ""}}, "", "", none},
		{
			"an error",
			site{current: {"500", jsonType, ""}, oldest: {"200", jsonType, remote}},
			"", "", "the host returned HTTP 500",
		},
		{"nothing", nil, "", "", none},
	} {
		env, user := connecttest.Env(t, "")
		f, _, out := session.LoadCard(t.Context(), env, c.site.serve(t), "")
		shown := strings.Join(user.Shown(), "\n")
		if f.Server.Name != c.want || !strings.Contains(out.Text, c.says) || (c.says == "") != out.OK() {
			t.Errorf("%s: got %q, %s %s", c.name, f.Server.Name, out.Kind, out.Text)
		}
		if !strings.Contains(shown, c.shown) || (shown == "") != (c.shown == "") {
			t.Errorf("%s: shown %q", c.name, shown)
		}
		if c.says != "" && (out.Kind != wire.Transport || out.Reached != wire.Answered || out.Part != wire.BeforeOperation) {
			t.Errorf("%s: %+v", c.name, out)
		}
	}
}

// A URL is fetched as it is, and what it leads to; a catalog that leads to itself, an answer without a document
// and a text that is neither URL nor file are refused.
func TestLoadAURL(t *testing.T) {
	t.Parallel()
	const kind = "application/json"
	host := site{
		"/card": {"200", kind, remote}, "/loop": {"200", kind, catalog(entry("catalog", "http://HOST/loop"))},
		"/to-none": {"200", kind, catalog(entry("a", "http://HOST/none"))},
		"/broken":  {"200", kind, "{"}, "/large": {"200", kind, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`},
		"/several": {"200", kind, `{"servers":[{"server":` + named("a") + `},{"server":` + named("b") + `}]}`},
	}.serve(t)
	for _, c := range []struct {
		source, want, says string
		kind               wire.Kind
	}{
		{"http://" + host + "/card", "com.example/r", "", wire.OK},
		{"http://" + host + "/none", "", "the URL of the card returned HTTP 404", wire.Transport},
		{"http://" + host + "/to-none", "", "the URL of the catalog's entry returned HTTP 404", wire.Transport},
		{"http://" + host + "/loop", "", "the catalog leads to itself", wire.Refused},
		{"http://" + host + "/broken", "", "", wire.BadResponse},
		{"http://" + host + "/large", "", "answered with more than 1 MiB", wire.BadResponse},
		{"http://" + host + "/several", "", "", wire.OK},
		{"http://127.0.0.1:1/card", "", "", wire.Transport},
		{"ftp://" + host + "/card", "", "--card takes a file, an https URL or a host", wire.Usage},
		{"none.json", "", "none.json", wire.Usage},
	} {
		env, user := connecttest.Env(t, "")
		env.Verbose = 1
		f, _, out := session.LoadCard(t.Context(), env, c.source, "")
		if f.Server.Name != c.want || out.Kind != c.kind || !strings.Contains(out.Text, c.says) {
			t.Errorf("%s: got %q, %s %s", c.source, f.Server.Name, out.Kind, out.Text)
		}
		if c.want != "" {
			told := strings.Join(user.Shown(), "\n")
			if told != "note: card: "+c.source+" returned HTTP 200, application/json" || f.From != c.source {
				t.Errorf("%s: shown %q, from %s", c.source, told, f.From)
			}
			if allowed := f.Permitted(t.Context(), "http://127.0.0.1:9/mcp"); !allowed.OK() {
				t.Errorf("%s: a server of this machine: %s", c.source, allowed.Text)
			}
		}
		if strings.HasSuffix(c.source, "/several") && len(f.Several) != 2 {
			t.Errorf("%s: lines %q", c.source, f.Several)
		}
	}
}

const pkg = `{"registryType":"npm","identifier":"w","version":"1.2.3","transport":{"type":"stdio"}}`

// The way to use a server is the one that --pick names, the only one, or the only endpoint.
func TestChooseByPickOrOnlyEndpoint(t *testing.T) {
	t.Parallel()
	const (
		one   = `{"type":"streamable-http","url":"https://one.example/mcp"}`
		two   = `{"type":"sse","url":"https://two.example/sse"}`
		other = `{"registryType":"unheard-of","identifier":"w","version":"1","transport":{"type":"stdio"}}`
	)
	for _, c := range []struct {
		name, remotes, packages string
		pick                    []int
		want                    string // remote, package, or the lines
	}{
		{"the only one", one, "", nil, "remote"},
		{"the only package", "", pkg, nil, "package"},
		{"an endpoint before a package", one, pkg, nil, "remote"},
		{
			"two endpoints", one + "," + two, pkg, nil,
			"1\tstreamable-http https://one.example/mcp|2\tsse https://two.example/sse|3\tstdio npx -y w@1.2.3",
		},
		{"the third", one + "," + two, pkg, []int{3}, "package"},
		{"none such", one, pkg, []int{3}, "1\tstreamable-http https://one.example/mcp|2\tstdio npx -y w@1.2.3"},
		{"a number too many", one, pkg, []int{1, 1}, "1\tstreamable-http https://one.example/mcp|2\tstdio npx -y w@1.2.3"},
		{"one that can be used", "", other + "," + pkg, nil, "package"},
		{"the only one cannot", "", other, nil, "package"},
	} {
		file := filepath.Join(t.TempDir(), "card.json")
		document := `{"name":"com.example/w","version":"1.0.0","remotes":[` + c.remotes + `],"packages":[` + c.packages + `]}`
		if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		env, _ := connecttest.Env(t, "")
		f, _, out := session.LoadCard(t.Context(), env, file, "")
		if !out.OK() {
			t.Errorf("%s: %s", c.name, out.Text)
			continue
		}
		choice, lines := f.Choose(c.pick)
		got := strings.Join(lines, "|")
		if lines == nil {
			got = map[bool]string{true: "remote", false: "package"}[choice.IsRemote]
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A server without a document's host, as one of a file, is not refused.
func TestServersOfFilesArePermitted(t *testing.T) {
	t.Parallel()
	if out := (session.FoundCard{}).Permitted(t.Context(), "http://10.0.0.1/mcp"); !out.OK() {
		t.Error(out.Text)
	}
}
