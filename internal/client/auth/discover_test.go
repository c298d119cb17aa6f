package auth

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// RFC 9110, section 11.6.1, and what servers make of it.
//
// rules 191
// authorization 8, 9, 11
func TestParseChallenges(t *testing.T) {
	one := func(scheme string, pairs ...string) Challenge {
		c := Challenge{Scheme: scheme, Params: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			if _, twice := c.Params[pairs[i]]; twice {
				c.MoreMetadata = append(c.MoreMetadata, pairs[i+1])
				continue
			}
			c.Params[pairs[i]] = pairs[i+1]
		}
		return c
	}
	for _, c := range []struct {
		values []string
		want   []Challenge
	}{
		{[]string{`Bearer`}, []Challenge{one("bearer")}},
		{[]string{`BEARER Realm="a, b", ERROR=invalid_token`}, []Challenge{one("bearer", "realm", "a, b", "error", "invalid_token")}},
		{[]string{`Bearer realm=""`}, []Challenge{one("bearer", "realm", "")}},
		{[]string{`Bearer scope = "a b" ,error= "x"`}, []Challenge{one("bearer", "scope", "a b", "error", "x")}},
		{[]string{`Bearer a="say \"hi\"\\"`}, []Challenge{one("bearer", "a", `say "hi"\`)}},
		{[]string{`Basic realm="x", Bearer error="y"`}, []Challenge{one("basic", "realm", "x"), one("bearer", "error", "y")}},
		{[]string{`Basic realm="x"`, `Bearer error="y"`}, []Challenge{one("basic", "realm", "x"), one("bearer", "error", "y")}},
		{[]string{`Negotiate YII=, Bearer error="y"`}, []Challenge{one("negotiate"), one("bearer", "error", "y")}},
		{[]string{`Negotiate, Bearer error="y"`}, []Challenge{one("negotiate"), one("bearer", "error", "y")}},
		{[]string{`Bearer error="y" scope="z"`}, []Challenge{one("bearer", "error", "y", "scope", "z")}}, // a comma is missing
		{[]string{"Bearer error=\"y\",\r\n\t scope=\"z\""}, []Challenge{one("bearer", "error", "y", "scope", "z")}},
		{[]string{`Bearer scope="first", scope="second"`}, []Challenge{one("bearer", "scope", "first")}},
		{[]string{`Bearer resource_metadata=https://h.example/x?a=b`}, []Challenge{one("bearer", "resource_metadata", "https://h.example/x?a=b")}},
		{
			[]string{`Bearer resource_metadata="a", error="e", resource_metadata=b`},
			[]Challenge{one("bearer", "resource_metadata", "a", "error", "e", "resource_metadata", "b")},
		},
		{
			[]string{`Bearer resource_metadata='https://h.example/x', scope='a b'`},
			[]Challenge{one("bearer", "resource_metadata", "https://h.example/x", "scope", "a b")},
		},
		{[]string{`Bearer scope="does not end`}, []Challenge{one("bearer", "scope", "does not end")}},
		{[]string{`"", ((`, ``}, nil},
	} {
		if diff := cmp.Diff(c.want, ParseChallenges(c.values)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", c.values, diff)
		}
	}
}

func FuzzParseChallenges(f *testing.F) {
	f.Add(`Bearer realm="x", Negotiate YII=, DPoP algs="ES256"`)
	f.Fuzz(func(t *testing.T, value string) {
		for _, c := range ParseChallenges([]string{value}) {
			if c.Scheme == "" || c.Params == nil {
				t.Errorf("%q: %+v", value, c)
			}
		}
	})
}

// AUTH 2.1: of several challenges, the Bearer challenge with information counts.
//
// rules 191
// authorization 10
func TestBearerChallengeIsChosen(t *testing.T) {
	got, ok := SelectChallenge(ParseChallenges([]string{`Basic realm="x"`, `Bearer realm="y"`, `Bearer error="e", scope="a b"`}))
	if !ok || !slices.Equal(got.Scopes(), []string{"a", "b"}) {
		t.Errorf("got %+v, %v", got, ok)
	}
	got, _ = SelectChallenge(ParseChallenges([]string{`Bearer error="e"`, `DPoP resource_metadata="a"`, `Bearer resource_metadata=b`}))
	if named := got.metadata(); got.Params["error"] != "e" || !slices.Equal(named, []string{"a", "b"}) {
		t.Errorf("got %+v, metadata at %q", got, named)
	}
	if _, ok := SelectChallenge(ParseChallenges([]string{`Basic realm="x"`})); ok {
		t.Error("a Basic challenge was taken for a Bearer one")
	}
}

// AUTH 3.1 (RFC 9728, section 3): where the metadata is searched for, and in what order.
//
// rules 192, 193
// authorization 12, 14, 15, 16, 17
func TestWhereResourceMetadataIsLookedFor(t *testing.T) {
	for _, c := range []struct {
		name, endpoint, named string
		at                    string
		want                  []string
	}{
		{"named in the challenge, and only there", "/mcp", "BASE/custom/place.json", "/custom/place.json", []string{"/custom/place.json"}},
		{"named as a path", "/mcp", "/custom/place.json", "/custom/place.json", []string{"/custom/place.json"}},
		{"named first where nothing is", "/mcp", "BASE/none BASE/custom", "/custom", []string{"/none", "/custom"}},
		{"named where a web page is", "/mcp", "BASE/page", resourceAt, []string{"/page", resourceAt + "/mcp", resourceAt}},
		{"named where nothing is", "/mcp", "BASE/none", resourceAt + "/mcp", []string{"/none", resourceAt + "/mcp"}},
		{"with the path first", "/mcp", "", resourceAt + "/mcp", []string{resourceAt + "/mcp"}},
		{"then at the root", "/mcp", "", resourceAt, []string{resourceAt + "/mcp", resourceAt}},
		{"also where the first asks for a token", "/private", "", resourceAt, []string{resourceAt + "/private", resourceAt}},
		{"at the root for a server there", "/", "", resourceAt, []string{resourceAt}},
		{"the query stays out", "/mcp?tenant=1", "", resourceAt + "/mcp", []string{resourceAt + "/mcp"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.documents = map[string]string{
				serverAt: usualServer, resourceAt + "/private": "status 401",
				"/page": "<html>", c.at: `{"resource":"BASE","authorization_servers":["BASE"]}`,
			}
			req := Request{Endpoint: w.url + c.endpoint, Grant: AuthorizationCode}
			var fields []string
			for _, named := range strings.Fields(c.named) {
				fields = append(fields, `Bearer resource_metadata="`+strings.Replace(named, "BASE", w.url, 1)+`"`)
			}
			req.Challenge, _ = SelectChallenge(ParseChallenges(fields))
			if _, err := w.walk().Discover(t.Context(), req, Records{}); err != nil {
				t.Fatal(err)
			}
			if got := w.seen(); !slices.Equal(got, append(c.want, serverAt)) {
				t.Errorf("got %q, want %q and then the authorization server", got, c.want)
			}
		})
	}
}

// AUTH 3.1: the required members of the metadata, before any request to the authorization server.
//
// rules 192, 226
// authorization 17, 18, 19, 63, 64
func TestWhatResourceMetadataMustSay(t *testing.T) {
	for _, c := range []struct {
		document string
		want     Rule
	}{
		{usualResource, ""},
		{`{"resource":"BASE/mcp/","authorization_servers":["BASE"]}`, ""},
		{`{"resource":"BASE","authorization_servers":["BASE"]}`, ""},
		{`no JSON`, ResourceInvalid},
		{`[]`, ResourceInvalid},
		{`{"resource":"BASE/mcp"}`, ResourceInvalid},
		{`{"resource":"BASE/mcp","authorization_servers":[]}`, ResourceInvalid},
		{`{"authorization_servers":["BASE"]}`, ResourceMismatch},
		{`{"resource":"https://evil.example/mcp","authorization_servers":["BASE"]}`, ResourceMismatch},
		{`{"resource":"BASE/mc","authorization_servers":["BASE"]}`, ResourceMismatch},
		{`{"resource":"BASE/mcp/more","authorization_servers":["BASE"]}`, ResourceMismatch},
		{`{"resource":"BASE/mcp","authorization_servers":["http://169.254.169.254"]}`, URLBlocked},
		{`{"resource":"BASE/mcp","authorization_servers":["https://169.254.169.254"]}`, URLBlocked},
		{`{"resource":"BASE/mcp","authorization_servers":["javascript:alert(1)"]}`, URLBlocked},
		{"status 500", Unreachable},
		{"status 429", Unreachable},
	} {
		w := newWorld(t)
		w.documents[resourceAt+"/mcp"] = c.document
		_, err := w.walk().Discover(t.Context(), w.request(), Records{})
		wantRule(t, err, c.want)
		if c.want != "" && w.asks(serverAt) != 0 {
			t.Errorf("%s: the authorization server was asked all the same", c.document)
		}
		if err != nil && strings.Contains(err.Error(), "secret of a page") {
			t.Errorf("the error holds what a page said: %v", err)
		}
	}
}

// A member of another type is named with its type, and used if it is readable; strict flows do not
// use it.
func TestMetadataOfOtherTypes(t *testing.T) {
	resource := func(members string) string { return `{"resource":"BASE/mcp",` + members + `}` }
	server := func(members string) string { return strings.Replace(usualServer, "{", "{"+members+",", 1) }
	for _, c := range []struct {
		resource, server string
		text             string // of the error, or of the broken rule that is tolerated
		tolerated        bool
	}{
		{resource(`"authorization_servers":"BASE"`), usualServer, `has a "authorization_servers" of type string, not array`, true},
		{resource(`"authorization_servers":["BASE"],"scopes_supported":"a b"`), usualServer, `"scopes_supported" of type string`, true},
		{resource(`"authorization_servers":["BASE"],"scopes_supported":{}`), usualServer, `"scopes_supported" of type object`, true},
		{resource(`"authorization_servers":["BASE",7]`), usualServer, "", true},
		{resource(`"authorization_servers":7`), usualServer, `names no authorization server: it has a "authorization_servers" of type number`, false},
		{resource(`"authorization_servers":[{"issuer":"BASE"}]`), usualServer, `"authorization_servers" without a string in it`, false},
		{`{"resource":["BASE/mcp"],"authorization_servers":["BASE"]}`, usualServer, `has a "resource" of type array, not string`, false},
		{"\ufeff" + usualResource, usualServer, "", true},
		{usualResource, server(`"scopes_supported":"a"`), `"scopes_supported" of type string`, true},
		{usualResource, server(`"token_endpoint_auth_methods_supported":null,"grant_types_supported":null`), "", true},
		{usualResource, server(`"client_id_metadata_document_supported":"true"`), "", true},
		{usualResource, strings.Replace(usualServer, `["S256"]`, `"S256"`, 1), `"code_challenge_methods_supported" of type string`, true},
		{usualResource, strings.Replace(usualServer, `"BASE/token"`, `{}`, 1), `has a "token_endpoint" of type object, not string`, false},
		{usualResource, strings.Replace(usualServer, `"BASE/authorize"`, `"/authorize"`, 1), `"authorization_endpoint" cannot be used: not an https URL`, false},
		{usualResource, strings.Replace(usualServer, `"BASE/token"`, `"as.example/token"`, 1), `"token_endpoint" cannot be used: not an https URL`, false},
	} {
		w := newWorld(t)
		w.documents[resourceAt+"/mcp"], w.documents[serverAt] = c.resource, c.server
		walk, told := w.walk(), ""
		walk.OnStep = func(s Step) {
			if s.Tolerated {
				told += s.Text
			}
		}
		_, err := walk.Discover(t.Context(), w.request(), Records{})
		if (err == nil) != c.tolerated || c.tolerated && !strings.Contains(told, c.text) ||
			!c.tolerated && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s %s: got %v, told %q", c.resource, c.server, err, told)
		}
		walk.Strict = true
		if _, err := walk.Discover(t.Context(), w.request(), Records{}); (err == nil) != (c.text == "") {
			t.Errorf("%s %s: a strict flow got %v", c.resource, c.server, err)
		}
	}
}

// An issuer that the user names, now or at the last login, is used if the metadata names no issuer.
func TestNamedIssuerForMetadataWithoutOne(t *testing.T) {
	for _, members := range []string{"", `,"authorization_servers":null`, `,"authorization_servers":[]`, `,"authorization_servers":7`} {
		w, store := newWorld(t), newStore()
		w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp"` + members + `}`
		_, err := w.login(store, nil)
		wantRule(t, err, ResourceInvalid)
		if failed, _ := errors.AsType[*Error](err); failed == nil || !strings.Contains(string(failed.Hint), "--issuer") {
			t.Errorf("%s: no hint at --issuer: %v", members, err)
		}
		for _, issuer := range []string{w.url, ""} { // the second login remembers it
			if _, err := w.login(store, func(r *Request) { r.Issuer = issuer }); err != nil {
				t.Errorf("%s, issuer %q: %v", members, issuer, err)
			}
		}
		walk := w.walk()
		walk.Strict = true
		req := w.request()
		req.Issuer = w.url
		_, err = walk.Discover(t.Context(), req, Records{})
		wantRule(t, err, ResourceInvalid)
	}
}

// AUTH 3.2: where the authorization server's metadata is searched for.
//
// rules 194
// authorization 21, 22
func TestWhereServerMetadataIsLookedFor(t *testing.T) {
	const openID = "/.well-known/openid-configuration"
	for _, c := range []struct {
		issuer string
		want   []string
	}{
		{"https://as.example", []string{serverAt, openID}},
		{"https://as.example/", []string{serverAt, openID}},
		{"https://as.example/t1", []string{serverAt + "/t1", openID + "/t1", "/t1" + openID}},
		{"https://as.example/a/b/", []string{serverAt + "/a/b", openID + "/a/b", "/a/b" + openID}},
	} {
		got, err := serverURLs(c.issuer)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "https://as.example")
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, %v, want %q", c.issuer, got, err, c.want)
		}
	}
	w := newWorld(t)
	w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["BASE/t1"]}`
	w.documents["/t1"+openID] = strings.Replace(usualServer, `"issuer":"BASE"`, `"issuer":"BASE/t1"`, 1)
	if _, err := w.walk().Discover(t.Context(), w.request(), Records{}); err != nil {
		t.Fatal(err)
	}
	want := []string{resourceAt + "/mcp", serverAt + "/t1", openID + "/t1", "/t1" + openID}
	if got := w.seen(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: never the root of an issuer with a path", got, want)
	}
}

// AUTH 3.2: the required members of the authorization server's metadata.
//
// rules 195, 204, 219, 227
// authorization 24, 25, 26, 41, 63, 64, 65
func TestWhatServerMetadataMustSay(t *testing.T) {
	change := func(old, new string) string { return strings.Replace(usualServer, old, new, 1) }
	for _, c := range []struct {
		name, document string
		want           Rule
	}{
		{"as it is", usualServer, ""},
		{"another issuer", change(`"issuer":"BASE"`, `"issuer":"https://honest.example"`), IssuerMismatch},
		{"a slash more", change(`"issuer":"BASE"`, `"issuer":"BASE/"`), IssuerMismatch},
		{"no issuer", change(`"issuer":"BASE",`, ``), IssuerMismatch},
		{"no PKCE", change(`,"code_challenge_methods_supported":["S256"]`, ``), NoPKCE},
		{"plain PKCE", change(`["S256"]`, `["plain"]`), NoPKCE},
		{"no token endpoint", change(`"token_endpoint":"BASE/token",`, ``), ServerInvalid},
		{"no authorization endpoint", change(`"authorization_endpoint":"BASE/authorize",`, ``), ServerInvalid},
		{"an endpoint that is a script", change(`"BASE/authorize"`, `"javascript:alert(1)"`), URLBlocked},
		{"an endpoint without TLS", change(`"BASE/token"`, `"http://as.example/token"`), URLBlocked},
		{"a registration without TLS", change(`"BASE/register"`, `"http://as.example/register"`), URLBlocked},
		{"no JSON", "<html>", ServerInvalid},
		{"redirected", "to BASE/elsewhere", ""},
		{"redirected to where nobody may", "to https://169.254.169.254/", URLBlocked},
		{"redirected for ever", "to BASE" + serverAt, URLBlocked},
		{"too large", `{"x":"` + strings.Repeat("x", maxDocument) + `"}`, Unreachable},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.documents[serverAt] = c.document
			w.documents["/elsewhere"] = usualServer
			_, err := w.walk().Discover(t.Context(), w.request(), Records{})
			wantRule(t, err, c.want)
		})
	}
}

// AUTH 3.1, 3.2: requests for metadata carry no credentials.
//
// authorization 23
func TestMetadataRequestsHaveNoCredentials(t *testing.T) {
	w, store := newWorld(t), newStore()
	w.registration = func(map[string]any) (int, string) { return 201, `{"client_id":"id","client_secret":"s"}` }
	for range 2 {
		if _, err := w.login(store, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.fetchers) < 4 {
		t.Errorf("only %d documents were fetched", len(w.fetchers))
	}
	for _, h := range w.fetchers {
		for _, name := range []string{"Authorization", "Cookie", "DPoP"} {
			if h.Get(name) != "" {
				t.Errorf("a document was asked for with %s: %s", name, h.Get(name))
			}
		}
	}
}

// AUTH 3.2: an issuer that differs in the case of a letter is another one.
//
// rules 195, 213
// authorization 24
func TestIssuersAreComparedByBytes(t *testing.T) {
	w := newWorld(t)
	w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["BASE/T1"]}`
	w.documents[serverAt+"/T1"] = strings.Replace(usualServer, `"issuer":"BASE"`, `"issuer":"BASE/t1"`, 1)
	_, err := w.walk().Discover(t.Context(), w.request(), Records{})
	wantRule(t, err, IssuerMismatch)
}

// AUTH 9: neither PKCE nor the browser's endpoint matter to a program.
//
// authorization 79
func TestPKCEIsForCodesOnly(t *testing.T) {
	w := newWorld(t)
	w.documents[serverAt] = `{"issuer":"BASE","token_endpoint":"BASE/token"}`
	req := w.request()
	req.Grant = ClientCredentials
	_, err := w.walk().Discover(t.Context(), req, Records{})
	wantRule(t, err, "")
}

// AUTH 3.1: among several authorization servers, a server that mcpc is known to comes first, then
// the first that can be used.
//
// authorization 20
func TestWhichAuthorizationServer(t *testing.T) {
	w := newWorld(t)
	w.documents[resourceAt+"/mcp"] = `{"resource":"BASE/mcp","authorization_servers":["BASE/gone","BASE","BASE/t2"]}`
	w.documents[serverAt+"/t2"] = strings.Replace(usualServer, `"issuer":"BASE"`, `"issuer":"BASE/t2"`, 1)
	found, err := w.walk().Discover(t.Context(), w.request(), Records{})
	if err != nil || found.Server.Issuer != w.url {
		t.Errorf("got %+v, %v", found.Server, err)
	}
	known := Records{Clients: []Client{{Issuer: w.url + "/t2", ID: "x", Origin: Registered}}}
	found, err = w.walk().Discover(t.Context(), w.request(), known)
	if err != nil || found.Server.Issuer != w.url+"/t2" {
		t.Errorf("got %+v, %v", found.Server, err)
	}
}

// AUTH 8: a server of 2025-03-26, and that no other becomes one.
//
// rules 229, 230
// authorization 76, 77, 78
func TestServersWithoutResourceMetadata(t *testing.T) {
	for _, c := range []struct {
		name      string
		documents map[string]string
		challenge bool
		want      Rule
		token     string
	}{
		{"with metadata of its own", map[string]string{serverAt: usualServer}, true, "", "/token"},
		{"with nothing", nil, true, "", "/token"},
		{"that did not ask", nil, false, NotAsked, ""},
		{"whose metadata has no PKCE", map[string]string{serverAt: `{"issuer":"BASE","authorization_endpoint":"BASE/a","token_endpoint":"BASE/t"}`}, true, NoPKCE, ""},
		{"whose metadata is another's", map[string]string{serverAt: strings.Replace(usualServer, `"issuer":"BASE"`, `"issuer":"BASE/"`, 1)}, true, IssuerMismatch, ""},
		{"that is broken", map[string]string{resourceAt + "/mcp": "status 500"}, true, Unreachable, ""},
		{"whose resource metadata is invalid", map[string]string{resourceAt + "/mcp": `{}`, serverAt: usualServer}, true, ResourceInvalid, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.documents = c.documents
			req := w.request()
			req.Challenged = c.challenge
			found, err := w.walk().Discover(t.Context(), req, Records{})
			wantRule(t, err, c.want)
			if err == nil && (found.Server.Token != w.url+c.token || w.named != "2025-03-26") {
				t.Errorf("got %+v, asked for in revision %q", found.Server, w.named)
			}
		})
	}
}

// A user may name the authorization server of a server whose metadata cannot be read, but not of one whose metadata
// name another.
func TestIssuerOfTheUserWithoutResourceMetadata(t *testing.T) {
	metadataIn := func(where string) string { return `Bearer resource_metadata="` + where + `"` }
	for _, c := range []struct {
		name, named string
		documents   map[string]string
		issuer      string
		want        Rule
	}{
		{"whose metadata require a token", resourceAt, map[string]string{resourceAt: "status 401"}, "/t2", ""},
		{"whose metadata are a page", resourceAt, map[string]string{resourceAt: "<html>"}, "/t2", ""},
		{"without metadata", "", nil, "/t2", ""},
		{"without an issuer of the user", resourceAt, map[string]string{resourceAt: "status 401"}, "", ResourceMissing},
		{"whose metadata name another", "", map[string]string{resourceAt: `{"resource":"BASE","authorization_servers":["BASE"]}`}, "/t2", NotOffered},
		{"whose metadata are for another", "", map[string]string{resourceAt: `{"resource":"https://x.example","authorization_servers":["BASE/t2"]}`}, "/t2", ResourceMismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.documents = map[string]string{serverAt + "/t2": strings.Replace(usualServer, `"issuer":"BASE"`, `"issuer":"BASE/t2"`, 1)}
			maps.Copy(w.documents, c.documents)
			req := w.request()
			req.Challenged = true
			if c.named != "" {
				req.Challenge, _ = SelectChallenge(ParseChallenges([]string{metadataIn(w.url + c.named)}))
			}
			if c.issuer != "" {
				req.Issuer = w.url + c.issuer
			}
			found, err := w.walk().Discover(t.Context(), req, Records{})
			wantRule(t, err, c.want)
			if err == nil && (found.Server.Issuer != req.Issuer || found.Resource != nil) {
				t.Errorf("got %+v", found)
			}
			if c.want == ResourceMissing && !strings.Contains(err.Error(), resourceAt+" returned HTTP 401 Unauthorized") {
				t.Errorf("the error does not say what was answered: %v", err)
			}
		})
	}
}

// AUTH 3.8: the URLs that a token may be sent to.
//
// rules 206
func TestTokenCoversURLsOfItsResource(t *testing.T) {
	for _, c := range []struct {
		resource, at string
		want         bool
	}{
		{"https://h.example/mcp", "https://h.example/mcp", true},
		{"https://h.example/mcp/", "https://h.example/mcp", true},
		{"https://h.example/mcp", "https://H.example:443/mcp", true},
		{"https://h.example", "https://h.example/mcp", true},
		{"https://h.example/", "https://h.example/mcp", true},
		{"https://h.example/a", "https://h.example/a/b", true},
		{"https://h.example/a", "https://h.example/ab", false},
		{"https://h.example/a/b", "https://h.example/a", false},
		{"https://h.example/mcp", "http://h.example/mcp", false},
		{"https://h.example/mcp", "https://h.example:8443/mcp", false},
		{"https://h.example/mcp", "https://x.h.example/mcp", false},
		{"https://h.example/mcp", "https://h.example.evil.example/mcp", false},
		{"https://h.example/mcp?t=1", "https://h.example/mcp?t=2", false},
		{"", "https://h.example/mcp", false},
		{"/mcp", "/mcp", false},
	} {
		if got := Covers(c.resource, c.at); got != c.want {
			t.Errorf("Covers(%q, %q) = %v", c.resource, c.at, got)
		}
	}
}

// The steps are what `auth explain` shows: each rule, and the documents.
func TestExplainStepsNameRulesAndDocuments(t *testing.T) {
	w := newWorld(t)
	w.documents[serverAt] = strings.Replace(usualServer, `["S256"]`, `["plain"]`, 1)
	walk, rules := w.walk(), map[string]bool{}
	documents := 0
	walk.OnStep = func(s Step) {
		if s.Rule != "" {
			rules[s.Rule] = !s.Broken
		}
		if json.Valid(s.Document) {
			documents++
		}
	}
	_, err := walk.Discover(t.Context(), w.request(), Records{})
	wantRule(t, err, NoPKCE)
	broken := 0
	for _, ok := range rules {
		if !ok {
			broken++
		}
	}
	if len(rules) < 8 || broken != 1 || documents != 2 {
		t.Errorf("%d rules of which %d are broken, %d documents: %v", len(rules), broken, documents, rules)
	}
}

// rules 206
func TestCanonical(t *testing.T) {
	got, err := Canonical("HTTPS://H.Example/MCP?x=1#fragment")
	if err != nil || got.String() != "https://h.example/MCP?x=1" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Canonical("mcp"); err == nil {
		t.Error("a name was taken for a URL")
	}
}
