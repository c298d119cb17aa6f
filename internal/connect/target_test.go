package connect_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/tests/connecttest"
	"mcpc/internal/wire"
)

// ended is an outcome as tables have it: its kind, text and hint.
func ended(out wire.Outcome) string {
	all := []string{string(out.Kind), out.Text}
	if hint := out.Hint.String(); hint != "" {
		all = append(all, "("+hint+")")
	}
	return strings.Join(slices.DeleteFunc(all, func(text string) bool { return text == "" }), " | ")
}

// put stores sessions in the state of an Env.
func put(t *testing.T, env *host.Env, sessions ...state.Session) {
	t.Helper()
	store, _, err := env.LoadState()
	if err != nil {
		t.Fatal(err)
	}
	err = store.Update(t.Context(), func(st *state.State) error {
		for _, s := range sessions {
			st.Put(s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// home writes files into a new home of the user.
func home(t *testing.T, env *host.Env, files map[string]string, variables ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env.Getenv = connecttest.Getenv(append(variables, "HOME="+dir, "USERPROFILE="+dir)...)
	return dir
}

// The server that the user's word means, and its name for display.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, server, variable string
		argv                   []string
		kind                   target.Kind
		where                  string // or how the outcome begins
	}{
		{"a URL", "http://h.example/mcp?token=s3cret-token", "", nil, target.URL, "http://h.example/mcp?token=****("},
		{
			"a command", "", "",
			[]string{"run", "a b", "--token", "s3cret-token"},
			target.Command,
			"run 'a b' --token '••••(",
		},
		{"the demo", "demo", "", nil, target.Demo, "demo"},
		{"a session", "box", "", nil, target.Session, "box, http://box.example/mcp"},
		{"a session of a command", "run", "", nil, target.Session, "run"},
		{"a configured server", "known", "", nil, target.Known, "known"},
		{"by its whole name", "cursor:known", "", nil, target.Known, "cursor:known"},
		{"a variable", "", "box", nil, target.Session, "box, http://box.example/mcp"},
		{"nothing", "", "", nil, target.Session, "box, http://box.example/mcp"},
		{
			"both", "box", "",
			[]string{"run"},
			0,
			"usage | two servers are given: one with -s, one after -- | (use only one of them)",
		},
		{"misspelled", "boxx", "", nil, 0, "usage | "},
		{
			"a file that has gone", "lost", "", nil, 0,
			"usage | gone is no longer in ~/.cursor/mcp.json | (mcpc close removes the session; ",
		},
		{"a client that has gone", "older", "", nil, 0, "usage | x is no longer in /f | "},
	} {
		env, _ := connecttest.Env(t, c.server)
		const known = `{"mcpServers":{"known":{"url":"http://known.example/mcp"}}}`
		dir := home(t, env, map[string]string{".cursor/mcp.json": known}, "MCPC_SERVER="+c.variable)
		put(t, env, state.Session{Name: "box", Endpoint: "http://box.example/mcp", Account: "me"},
			state.Session{Name: "run", Command: []string{"run"}, Folder: "/w"},
			state.Session{Name: "lost", From: &state.Origin{Client: "cursor", File: dir + "/.cursor/mcp.json", Name: "gone"}},
			state.Session{Name: "older", From: &state.Origin{Client: "no-such-client", File: "/f", Name: "x"}})
		if c.name == "nothing" {
			store, _, _ := env.LoadState()
			_ = store.Update(t.Context(), func(st *state.State) error { st.SetCurrent("box"); return nil })
		}
		conn := &connect.Conn{Env: env}
		out := conn.Find(c.argv)
		got := conn.Where
		if !out.OK() {
			got = strings.ReplaceAll(ended(out), filepath.ToSlash(dir), "~")
		}
		if !strings.HasPrefix(got, c.where) || strings.Contains(got, "s3cret") || conn.Target.Kind != c.kind {
			t.Errorf("%s: %s, of kind %s", c.name, got, conn.Target.Kind)
		}
		if out.OK() && (conn.Saved == nil) != (c.kind != target.Session) || out.OK() &&
			(conn.OneOff == nil) != (c.kind == target.Session) {
			t.Errorf("%s: saved %v, one-off %v", c.name, conn.Saved, conn.OneOff)
		}
		if conn.Saved != nil && conn.Saved.Name == "box" && env.Auth.Account != "me" {
			t.Errorf("%s: the account is %q", c.name, env.Auth.Account)
		}
		if c.name == "misspelled" && !strings.Contains(out.Hint.String(), "did you mean box?") {
			t.Errorf("%s: %s", c.name, ended(out))
		}
	}
}

// A damaged state is no reason against a URL, but against a session and the default.
func TestFindWithADamagedState(t *testing.T) {
	t.Parallel()
	for server, good := range map[string]bool{"http://h.example/mcp": true, "demo": true, "": false} {
		env, _ := connecttest.Env(t, server)
		if err := os.WriteFile(filepath.Join(env.State, "state.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		out := (&connect.Conn{Env: env}).Find(nil)
		if out.OK() != good || !good && (out.Kind != wire.LocalIO || out.Phase != "state") {
			t.Errorf("%q: %s", server, ended(out))
		}
		if tried := connect.TryState(t.Context(), env); tried.Kind != wire.LocalIO || tried.Hint.String() == "" {
			t.Errorf("it can be changed: %s", ended(tried))
		}
	}
	if out := connect.StateFailed(errors.New("other")); ended(out) != "local_io | other" {
		t.Error(ended(out))
	}
	env, _ := connecttest.Env(t, "")
	if out := connect.TryState(t.Context(), env); !out.OK() {
		t.Error(ended(out))
	}
}

// A server of another program's configuration is used once the user agrees, with the values of its variables.
func TestConfiguredServersNeedConsent(t *testing.T) {
	project := filepath.Join(t.TempDir(), "project")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	server := connecttest.Play(t, "speaks 2025-11-25\ntool x\n")
	file := `{"mcpServers":{"s":{"type":"http","url":"` + server.URL + `","headers":{"X-Key":"${KEY}","X-Own":"file"}}}}`
	if err := os.WriteFile(filepath.Join(project, ".mcp.json"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(project)
	const refused = "refused | server \"s\" from ~/.mcp.json is not trusted yet | " +
		"(mcpc servers trust claude-code:s shows and approves it)"
	for _, c := range []struct {
		name, server string
		atTerminal   bool
		says         []string
		variables    []string
		want         string
		shown        string
		trusted      bool // afterwards
	}{
		{
			"nobody to ask", "claude-code:s", false, nil,
			[]string{"KEY=k3y-of-env"},
			refused,
			"server: server \"s\" from Claude Code (project) is not trusted yet:", false,
		},
		{
			"yes", "claude-code:s", true,
			[]string{"yes"},
			[]string{"KEY=k3y-of-env"},
			"",
			"ask: Connect to it? /always for exactly this", false,
		},
		{"always", "claude-code:s", true, []string{"always"}, []string{"KEY=k3y-of-env"}, "", "ask: Connect to it?", true},
		{
			"no", "claude-code:s", true,
			[]string{"no"},
			[]string{"KEY=k3y-of-env"},
			"refused | the server was not approved",
			"ask: Connect to it?", false,
		},
		{
			"a missing variable", "claude-code:s", true,
			[]string{"yes"},
			nil,
			"usage | ", "ask: Connect to it?", false,
		},
		{"the user's own file", "cursor:s", false, nil, []string{"KEY=k3y-of-env"}, "", "", false},
		{
			"a server that cannot be used", "cursor:broken", false, nil, nil, "usage | cursor:broken cannot be used: ", "",
			false,
		},
		{
			"a command of the user's own", "cursor:run", true,
			[]string{"no"},
			nil, "refused | the server was not approved",
			"ask: Run it?", false,
		},
	} {
		env, user := connecttest.Env(t, c.server)
		own := strings.Replace(file, `}}}}`, `}},"broken":{"type":"http"},"run":{"command":"no-such-command"}}}`, 1)
		dir := home(t, env, map[string]string{".cursor/mcp.json": own}, c.variables...)
		_ = dir
		env.Headers = []string{"X-Own: typed"}
		user.AtTerminal, user.Says = c.atTerminal, c.says
		conn, out := connect.Dial(t.Context(), env, connect.Options{})
		got := strings.ReplaceAll(ended(out), project, "~")
		shown := strings.Join(user.Shown(), "\n")
		if !strings.HasPrefix(got, c.want) || (c.want == "") != out.OK() || !strings.Contains(shown, c.shown) {
			t.Errorf("%s: %s, shown %q", c.name, got, shown)
		}
		if out.OK() {
			var fields []string
			for _, f := range conn.Fields {
				fields = append(fields, f.Name+"="+f.Value)
			}
			if !slices.Equal(fields, []string{"X-Key=k3y-of-env", "X-Own=typed"}) {
				t.Errorf("%s: sent %q", c.name, fields)
			}
			if text := env.Secrets.Text("k3y-of-env"); strings.Contains(text, "k3y") || env.FromFile != c.server {
				t.Errorf("%s: %s is shown, from %s", c.name, text, env.FromFile)
			}
		}
		conn.Close(t.Context())
		if conn.Origin == nil {
			continue
		}
		store, _, _ := env.LoadState()
		if now := host.StandingOf(env.Trusts(store), *conn.Origin); (now == host.Confirmed) != c.trusted {
			t.Errorf("%s: afterwards it is %d", c.name, now)
		}
	}
}

// A change of a server that was approved asks again.
func TestAChangedConfiguredServer(t *testing.T) {
	t.Parallel()
	server := connecttest.Play(t, "speaks 2025-11-25\ntool x\n")
	env, user := connecttest.Env(t, "cursor:s")
	dir := home(t, env, map[string]string{".cursor/mcp.json": `{"mcpServers":{"s":{"url":"` + server.URL + `"}}}`})
	store, _, err := env.LoadState()
	if err != nil {
		t.Fatal(err)
	}
	s, out := env.ServerNamed("cursor:s")
	if !out.OK() {
		t.Fatal(ended(out))
	}
	s.URL = "http://before.example/mcp"
	if err := env.Trust(t.Context(), store, s); err != nil {
		t.Fatal(err)
	}
	c, out := connect.Dial(t.Context(), env, connect.Options{})
	defer c.Close(t.Context())
	want := `refused | server "s" from ~/.cursor/mcp.json changed since it was approved`
	if got := ended(out); !strings.HasPrefix(strings.ReplaceAll(got, dir, "~"), want) {
		t.Errorf("got %s, shown %q", got, user.Shown())
	}
}

// The server of a card comes from its entry; --card approves it only if it is allowed to.
func TestCardServers(t *testing.T) {
	t.Parallel()
	server := connecttest.Play(t, "speaks 2025-11-25\ntool x\n")
	entry := func(url string) []byte {
		return []byte(`{"servers":{"s":{"type":"http","url":"` + url +
			`","headers":{"X-Key":"${input:key}"}}},"inputs":[{"id":"key","type":"promptString","password":true}]}`)
	}
	for _, c := range []struct {
		name string
		card connect.CardServer
		want string
	}{
		{"approved", connect.CardServer{
			Entry: entry(server.URL), File: "/c.json", Approved: true,
			Given: map[string]string{"key": "k3y-of-card"},
		}, ""},
		{
			"not approved",
			connect.CardServer{
				Entry: entry(server.URL), File: "/c.json",
				Given: map[string]string{"key": "k3y-of-card"},
			},
			`refused | server "s" from /c.json is not trusted yet | (--yes approves it without asking)`,
		},
		{
			"an input is missing",
			connect.CardServer{Entry: entry(server.URL), File: "/c.json", Approved: true},
			"usage | key must be entered when the server starts, and there is no terminal | (set the variable MCPC_INPUT_KEY)",
		},
		{
			"no server",
			connect.CardServer{Entry: []byte(`{"servers":{}}`), File: "/c.json", Approved: true},
			"usage | ",
		},
	} {
		env, _ := connecttest.Env(t, "")
		conn, out := connect.Dial(t.Context(), env, connect.Options{Card: &c.card})
		if got := ended(out); !strings.HasPrefix(got, c.want) || (c.want == "") != out.OK() {
			t.Errorf("%s: %s", c.name, got)
		}
		if out.OK() && (len(conn.Fields) != 1 || conn.Fields[0].Value != "k3y-of-card" ||
			conn.OneOff.From.Entry != string(c.card.Entry)) {
			t.Errorf("%s: %+v, from %+v", c.name, conn.Fields, conn.OneOff.From)
		}
		conn.Close(t.Context())
	}
}

// A URL from a file is checked like a typed URL.
func TestAURLOfAFileIsChecked(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "cursor:s")
	home(t, env, map[string]string{".cursor/mcp.json": `{"mcpServers":{"s":{"url":"http://h.example/mcp#x"}}}`})
	c, out := connect.Dial(t.Context(), env, connect.Options{})
	defer c.Close(t.Context())
	if !strings.HasPrefix(ended(out), "usage | cursor:s: ") ||
		!strings.Contains(out.Hint.String(), "the file is ~/.cursor/mcp.json") {
		t.Error(ended(out))
	}
}

func TestCommandLineHidesSecrets(t *testing.T) {
	t.Parallel()
	got := connect.CommandLine([]string{"npx", "a b", "--api-key=s3cret-key"})
	if !strings.HasPrefix(got, "npx 'a b' '--api-key=••••(") || strings.Contains(got, "s3cret") {
		t.Error(got)
	}
}

// The kinds are known by both of their names.
func TestKindsHaveTwoNames(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"tool": "tools/list", "templates": "resources/templates/list",
		"skill": "skills/list",
	} {
		if k, ok := connect.KindNamed(word); !ok || k.Method != want {
			t.Errorf("%s: %+v", word, k)
		}
	}
	if _, ok := connect.KindNamed("toolz"); ok {
		t.Error("toolz are a kind")
	}
	if got := strings.Join(connect.KindWords(), " "); got != "tools prompts resources templates skills" {
		t.Error(got)
	}
}

func TestServerName(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]string{
		`{"name":"n","title":"T","version":"1"}`: "T (n) 1", `{"name":"n","title":"n"}`: "n", `{"version":"1"}`: "1",
		`{}`: "", "": "(not given)", `[]`: "(not given)",
	} {
		if got := connect.ServerName([]byte(info)); got != want {
			t.Errorf("%s: %q, want %q", info, got, want)
		}
	}
}
