package host_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/client/network"
	"mcpc/internal/connect/host"
	"mcpc/internal/state"
	"mcpc/internal/tests/connecttest"
)

// The flags of this run take precedence over the session's; a certificate and its key, a proxy and
// a socket are one setting.
func TestNetworkFlagsPrecedeSession(t *testing.T) {
	t.Parallel()
	const server = "https://h.example/mcp"
	for _, c := range []struct {
		name  string
		flags state.Reach
		saved *state.Reach
		want  string // the options as curl has them
		says  string
	}{
		{"nothing", state.Reach{}, nil, "", ""},
		{"a proxy", state.Reach{Proxy: "http://p:8080"}, nil, "--proxy http://p:8080", ""},
		{"a secret in it", state.Reach{Proxy: "http://u:p@p:8080"}, nil, "--proxy http://redacted@p:8080", ""},
		{"no proxy", state.Reach{Proxy: network.NoProxy}, nil, "--noproxy *", ""},
		{"a socket", state.Reach{Socket: "/s"}, nil, "--unix-socket /s", ""},
		{
			"a pinned address",
			state.Reach{Resolve: []string{"h.example:443:127.0.0.1"}},
			nil,
			"--resolve h.example:443:127.0.0.1", "",
		},
		{
			"of the session",
			state.Reach{},
			&state.Reach{Proxy: "http://p", Resolve: []string{"a:1:127.0.0.1"}},
			"--proxy http://p --resolve a:1:127.0.0.1", "",
		},
		{
			"before the session",
			state.Reach{Proxy: "http://q", Resolve: []string{"b:1:127.0.0.1"}},
			&state.Reach{Proxy: "http://p", Resolve: []string{"a:1:127.0.0.1"}}, "--proxy http://q --resolve b:1:127.0.0.1", "",
		},
		{"a socket in place of a proxy", state.Reach{Socket: "/s"}, &state.Reach{Proxy: "http://p"}, "--unix-socket /s", ""},
		{"a proxy in place of a socket", state.Reach{Proxy: "http://q"}, &state.Reach{Socket: "/s"}, "--proxy http://q", ""},
		{"both", state.Reach{Proxy: "http://q", Socket: "/s"}, nil, "", "--unix-socket cannot be combined with --proxy"},
		{
			"a socket without a proxy",
			state.Reach{Proxy: network.NoProxy, Socket: "/s"},
			nil, "--noproxy * --unix-socket /s",
			"",
		},
		{"a key alone", state.Reach{Key: "/k"}, nil, "", "--key needs --cert"},
		{"no proxy at all", state.Reach{Proxy: "::"}, nil, "", "--proxy: "},
		{"no pin", state.Reach{Resolve: []string{"x"}}, nil, "", "--resolve: "},
	} {
		env, _ := connecttest.Env(t, "")
		env.Network.Reach = c.flags
		w, err := env.NetworkFor(server, c.saved)
		if !says(err, c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil {
			continue
		}
		var got []string
		for _, o := range w.Options(false) {
			got = append(got, o[0], o[1])
		}
		if strings.Join(got, " ") != c.want || env.Route != w {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if kept := w.Kept(); (kept == nil) != (c.want == "") {
			t.Errorf("%s: a session keeps %v", c.name, kept)
		}
	}
}

// Certificates are read from files, which must have the kind that the flag requires.
func TestCertificatesAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, text := write(t, dir, "empty", ""), write(t, dir, "text", "text")
	locked := write(t, dir, "locked", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
	for _, c := range []struct {
		flags state.Reach
		says  string
	}{
		{state.Reach{CACert: empty}, "--cacert " + empty + ": the file is empty"},
		{state.Reach{CACert: text}, "--cacert " + text + ": it contains no PEM certificate"},
		{state.Reach{CACert: text + "x"}, "--cacert " + text + "x"},
		{state.Reach{Cert: text, Key: text}, "--cert and --key must belong to each other"},
		{state.Reach{Cert: text, Key: locked}, "remove the passphrase"},
		{state.Reach{Cert: text + "x"}, "--cert " + text + "x"},
	} {
		env, _ := connecttest.Env(t, "")
		env.Network.Reach = c.flags
		if _, err := env.NetworkFor("https://h.example/mcp", nil); err == nil || !says(err, c.says) {
			t.Errorf("%+v: %v", c.flags, err)
		}
	}
}

// Of a session's certificate and key both are used, or neither.
func TestACertificateAndItsKeyBelongTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	saved := &state.Reach{Cert: write(t, dir, "saved.cert", "text"), Key: filepath.Join(dir, "saved.key")}
	for _, c := range []struct {
		flags state.Reach
		says  string // the first file that is missing
	}{
		{state.Reach{}, "saved.key"},
		{state.Reach{Cert: filepath.Join(dir, "own.cert")}, "own.cert"},
		{state.Reach{Key: filepath.Join(dir, "own.key")}, "own.key"},
	} {
		env, _ := connecttest.Env(t, "")
		env.Network.Reach = c.flags
		if _, err := env.NetworkFor("https://h.example/mcp", saved); err == nil || !says(err, c.says) {
			t.Errorf("%+v: %v", c.flags, err)
		}
	}
}

// A socket and a pinned address take the place of a proxy and of the address of the name.
func TestPinsAndProxies(t *testing.T) {
	t.Parallel()
	request, err := http.NewRequest(http.MethodPost, "https://h.example/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	env, user := connecttest.Env(t, "")
	env.Getenv = connecttest.Getenv("HTTPS_PROXY=http://p.example:3128")
	env.Network.Insecure = true
	w, err := env.NetworkFor("https://h.example/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	if proxy, _ := w.ProxyFunc(request); proxy == nil || proxy.Host != "p.example:3128" {
		t.Errorf("proxy %v", proxy)
	}
	if shown := user.Shown(); len(shown) != 1 || !strings.HasPrefix(shown[0], "warn: --insecure: ") {
		t.Errorf("shown %q", shown)
	}
	env.Network.Socket = "/s"
	if w, err = env.NetworkFor("https://h.example/mcp", nil); err != nil {
		t.Fatal(err)
	}
	if proxy, _ := w.ProxyFunc(request); proxy != nil || !slices.Equal(w.Pins.Addresses("h.example:443"), []string{"/s"}) {
		t.Errorf("proxy %v, places %q", proxy, w.Pins.Addresses("h.example:443"))
	}
	if len(user.Shown()) > 0 {
		t.Error("--insecure is told twice")
	}
	if auth := w.ForAuth(); auth.Server != "h.example:443" || !auth.Pinned("h.example:443") ||
		auth.Pinned("a.example:443") {
		t.Errorf("for a login: %+v", auth)
	}
	if got := w.Options(true); got[0][0] != "--insecure" {
		t.Errorf("options %q", got)
	}
	var none *host.Network
	if none.Kept() != nil || none.Options(true) != nil || none.ForAuth().Dial != nil {
		t.Error("no network is one")
	}
}

// Without a connection, the network settings of a server come from a session with it.
func TestRememberNetwork(t *testing.T) {
	t.Parallel()
	const server = "https://h.example/mcp"
	env, _ := connecttest.Env(t, "")
	store, _, err := env.LoadState()
	if err != nil {
		t.Fatal(err)
	}
	err = store.Update(t.Context(), func(st *state.State) error {
		st.Put(state.Session{Name: "a", Endpoint: "https://other.example/mcp", Reach: &state.Reach{Proxy: "http://wrong"}})
		st.Put(state.Session{Name: "b", Endpoint: server, Reach: &state.Reach{Proxy: "http://right"}})
		st.Put(state.Session{Name: "c", Endpoint: server})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing changes
		if err := env.RememberNetwork(server); err != nil || env.Route == nil || env.Route.Proxy != "http://right" {
			t.Errorf("%+v, %v", env.Route, err)
		}
		env.Network.Proxy = "http://later"
	}
}
