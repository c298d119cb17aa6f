package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/connect/host"
	"mcpc/internal/state"
	"mcpc/internal/target"
	"mcpc/internal/tests/connecttest"
	"mcpc/internal/wire"
)

// configure writes files into a new home, changes to a folder in it, and returns an Env with this home.
func configure(t *testing.T, files map[string]string) (*host.Env, *connecttest.User, string) {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		write(t, home, name, text)
	}
	env, user := connecttest.Env(t, "")
	env.Getenv = connecttest.Getenv("HOME="+home, "USERPROFILE="+home, "APPDATA="+filepath.Join(home, "AppData"))
	project := filepath.Join(home, "project", "inner")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(project)
	return env, user, home
}

// The servers of all clients are found by their names, in the order of the clients.
func TestConfiguredServers(t *testing.T) {
	env, user, _ := configure(t, map[string]string{
		".cursor/mcp.json": `{"mcpServers":{
			"one":{"command":"a"},"same":{"url":"https://s.example/mcp"}, "two":{"command":"b"}}}`,
		".claude.json": `{"mcpServers":{"same":{"type":"http","url":"https://s.example/mcp"}},
			"projects":{"/elsewhere":{"mcpServers":{"hidden":{"command":"c"}}}}}`,
		"project/.mcp.json":         `{"mcpServers":{"two":{"command":"d"},"off":{"command":"e"}}}`,
		".claude/settings.json":     `{"disabledMcpjsonServers":["off"]}`,
		".codex/config.toml":        "[mcp_servers.three]\ncommand = \"f\"\n",
		".config/goose/config.yaml": "extensions:\n  four:\n    type: stdio\n    cmd: g\n    enabled: true\n",
		".gemini/settings.json":     `{"mcpServers":`,
		".mcp-inspector/mcp.json":   `{"mcpServers":{"off":{"command":"h"}}}`,
	})
	for name, want := range map[string]string{
		"one": "cursor:one", "cursor:one": "cursor:one", "same": "claude-code-user:same", "cursor:same": "cursor:same",
		"claude-code:two": "claude-code:two", "three": "codex:three", "off": "inspector:off",
		"claude-code:off": "claude-code:off",
		"two":             `"two" names 2 different servers: claude-code:two, cursor:two`,
		"hidden":          `the server "hidden" is no longer configured`,
		"nothing":         `the server "nothing" is no longer configured`,
	} {
		s, out := env.ServerNamed(name)
		if got := s.ID(); out.OK() && got != want || !out.OK() && out.Text != want {
			t.Errorf("%s: got %s, %s, want %s", name, got, out.Text, want)
		}
	}
	if runtime.GOOS != "windows" {
		if s, out := env.ServerNamed("four"); s.ID() != "goose:four" {
			t.Errorf("four: %s %s", s.ID(), out.Text)
		}
	}
	user.Shown()
	names := env.ConfiguredNames()
	for _, name := range []string{"one", "cursor:one", "two", "claude-code:two", "cursor:two", "off"} {
		if at := slices.Index(names, name); at < 0 || slices.Contains(names[at+1:], name) {
			t.Errorf("%s is not once in %q", name, names)
		}
	}
	all := env.ConfiguredServers()
	if len(all) < 8 || !slices.ContainsFunc(all, func(s target.Server) bool {
		return s.ID() == "claude-code:off" &&
			s.Disabled
	}) {
		t.Errorf("%d servers", len(all))
	}
	shown := user.Shown()
	if len(shown) != 1 || !strings.HasPrefix(shown[0], "warn: Gemini CLI: ~/.gemini/settings.json is omitted: ") {
		t.Errorf("shown %q", shown)
	}
}

// The files are read once in a process.
func TestConfigurationsAreReadOnce(t *testing.T) {
	env, _, home := configure(t, map[string]string{".cursor/mcp.json": `{"mcpServers":{"one":{"command":"a"}}}`})
	before := env.ConfiguredNames()
	write(t, home, ".cursor/mcp.json", `{"mcpServers":{}}`)
	if got := env.ConfiguredNames(); !slices.Equal(got, before) || len(got) != 2 {
		t.Errorf("got %q, then %q", before, got)
	}
}

// Only a regular file is read, and a missing list is an empty list.
func TestReadOfAConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cursor, _ := target.ClientNamed("cursor")
	local, _ := target.ClientNamed("claude-code-local")
	const ofX = `{"projects":{"/x":{"mcpServers":{"x":{"command":"y"}}}}}`
	for _, c := range []struct {
		name   string
		client target.Client
		path   string
		folder string
		found  bool
		count  int
		says   string
	}{
		{"no file", cursor, filepath.Join(dir, "none"), dir, false, 0, ""},
		{"a folder", cursor, dir, dir, true, 0, "not a regular file"},
		{"a file as a folder", cursor, filepath.Join(write(t, dir, "f", ""), "x"), dir, false, 0, ""},
		{"no servers", cursor, write(t, dir, "a.json", `{}`), dir, true, 0, ""},
		{"a server", cursor, write(t, dir, "b.json", `{"mcpServers":{"x":{"command":"y"}}}`), dir, true, 1, ""},
		{"no JSON", cursor, write(t, dir, "c.json", `{`), dir, true, 0, "JSON"},
		{"no YAML", cursor, write(t, dir, "d.yaml", "a:\n  b: [\n"), dir, true, 0, "unsupported YAML at line 2, column "},
		{"no server of the project", local, write(t, dir, "e.json", ofX), dir, false, 0, ""},
		{"a server of the project above", local, write(t, dir, "g.json", ofX), "/x/y/z", true, 1, ""},
	} {
		if c.folder == "/x/y/z" && runtime.GOOS == "windows" {
			continue
		}
		f := host.ConfigFile{Client: c.client, Path: c.path}
		found := f.Read(c.folder)
		failed := ""
		if f.Err != nil {
			failed = f.Err.Error()
		}
		if found != c.found || len(f.Servers) != c.count || (failed == "") != (c.says == "") ||
			!strings.Contains(failed, c.says) {
			t.Errorf("%s: found %t, %d servers, %v", c.name, found, len(f.Servers), f.Err)
		}
	}
}

func TestHomeIsShownAsTilde(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "")
	home := filepath.FromSlash("/home/me")
	for path, want := range map[string]string{
		"/home/me/a": "~/a", "/home/me": "/home/me", "/home/meme/a": "/home/meme/a", "/etc": "/etc",
	} {
		env.Getenv = connecttest.Getenv("HOME=" + home)
		if got := env.Tilde(filepath.FromSlash(path)); got != filepath.FromSlash(want) {
			t.Errorf("%s: %s", path, got)
		}
		env.Getenv = connecttest.Getenv()
		if got := env.Tilde(path); got != path {
			t.Errorf("%s without a home: %s", path, got)
		}
	}
}

func serverOf(client string, kind target.Transport) target.Server {
	c, _ := target.ClientNamed(client)
	s := target.Server{Client: c, File: "/file", Folder: "/folder", Name: "s", Kind: kind}
	if kind == target.Stdio {
		s.Command = []string{"run", "it"}
	} else {
		s.URL = "https://s.example/mcp"
	}
	return s
}

// A confirmation applies to a server as it is; a change requires a new one, and so do all commands
// and the servers of a project.
func TestChangedServersLoseConfirmation(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "")
	store, _, err := env.LoadState()
	if err != nil {
		t.Fatal(err)
	}
	own, other := serverOf("cursor", target.Stdio), serverOf("cursor", target.Stdio)
	other.Command = []string{"run", "another"}
	for _, s := range []target.Server{own, other} {
		if now := host.StandingOf(env.Trusts(store), s); now == host.Confirmed || now == host.Changed {
			t.Errorf("%q is %d before", s.Command, now)
		}
	}
	if err := env.Trust(t.Context(), store, own); err != nil {
		t.Fatal(err)
	}
	moved := own
	moved.File = "/another"
	if now := host.StandingOf(env.Trusts(store), own); now != host.Confirmed {
		t.Errorf("confirmed it is %d", now)
	}
	if now := host.StandingOf(env.Trusts(store), moved); now != host.Confirmed {
		t.Errorf("the same in another file is %d", now)
	}
	if now := host.StandingOf(env.Trusts(store), other); now != host.Changed {
		t.Errorf("changed it is %d", now)
	}
	elsewhere := other
	elsewhere.File = "/another"
	if now := host.StandingOf(env.Trusts(store), elsewhere); now == host.Changed || now == host.Confirmed {
		t.Errorf("another of the same name in another file is %d", now)
	}
	renamed := other
	renamed.Name = "another"
	if now := host.StandingOf(env.Trusts(store), renamed); now == host.Changed || now == host.Confirmed {
		t.Errorf("another server is %d", now)
	}
	ofTool := []state.Trust{{Fingerprint: own.Fingerprint(), Server: own.ID(), File: own.File, Tool: "t"}}
	if now := host.StandingOf(ofTool, own); now == host.Confirmed || now == host.Changed {
		t.Errorf("a confirmed tool makes it %d", now)
	}
	if env.Trusts(nil) != nil {
		t.Error("without a store something is confirmed")
	}
}

func TestAsksFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		client string
		kind   target.Transport
		now    host.Standing
		want   bool
	}{
		{"cursor", target.Stdio, 0, true},
		{"cursor", target.Stdio, host.Changed, true},
		{
			"cursor", target.Stdio,
			host.Confirmed, false,
		},
		{"cursor", target.HTTP, 0, false},
		{"cursor", target.HTTP, host.Changed, true},
		{"cursor-project", target.HTTP, 0, true},
		{"cursor-project", target.HTTP, host.Confirmed, false},
	} {
		if got := host.AsksFirst(serverOf(c.client, c.kind), c.now); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// Approvals that cannot be read confirm nothing, and are a warning.
func TestDamagedApprovals(t *testing.T) {
	t.Parallel()
	env, user := connecttest.Env(t, "")
	store, _, err := env.LoadState()
	if err != nil {
		t.Fatal(err)
	}
	write(t, env.State, "trusted.json", "{")
	if got := env.Trusts(store); got != nil {
		t.Errorf("got %v", got)
	}
	if shown := user.Shown(); len(shown) != 1 ||
		!strings.HasPrefix(shown[0], "warn: the stored approvals cannot be read: ") {
		t.Errorf("shown %q", shown)
	}
}

// A server is shown with all that it would run or contact, and without its secrets.
func TestServerFacts(t *testing.T) {
	t.Parallel()
	env, _ := connecttest.Env(t, "")
	run := serverOf("cursor", target.Stdio)
	run.Command = []string{"npx", "a b", "x" + strings.Repeat(" ", 4) + "y", "z\u2800\u2800\u2800\u2800"}
	run.Env, run.Passed, run.EnvFile = []target.Setting{{Name: "KEY", Value: "s3cret"}}, []string{"TOKEN"}, ".env"
	reach := serverOf("cursor-project", target.HTTP)
	reach.Headers, reach.Problem = []target.Setting{{Name: "X-Key", Value: "s3cret"}}, "it is broken"
	reach.URL = "https://u:s3cret@s.example/mcp"
	for _, c := range []struct {
		server target.Server
		want   []string
	}{
		{run, []string{
			"command: npx 'a b' 'x⟨4 spaces⟩y' 'z⟨4 spaces⟩'", "directory: the current directory",
			"environment: KEY, TOKEN",
			"variables from: .env", "config file: /file",
		}},
		{reach, []string{
			"url: https://redacted@s.example/mcp", "header fields: X-Key", "config file: /file",
			"cannot be used: it is broken",
		}},
	} {
		var got []string
		for _, row := range host.ServerFacts(env, c.server) {
			got = append(got, row[0]+": "+row[1])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	for _, c := range []struct{ client, cwd, want string }{
		{"cursor", "", "the current directory"},
		{"cursor-project", "", "/folder"},
		{"cursor", "sub", "/folder/sub"},
		{"cursor", "/abs", "/abs"},
		{"cursor", "${HOME}/x", "${HOME}/x"},
	} {
		s := serverOf(c.client, target.Stdio)
		s.Cwd = c.cwd
		rows := host.ServerFacts(env, s)
		if runtime.GOOS != "windows" && !slices.ContainsFunc(rows, func(row []string) bool {
			return row[0] == "directory" &&
				row[1] == c.want
		}) {
			t.Errorf("%+v: %q", c, rows)
		}
	}
	card := serverOf("cursor", target.HTTP)
	card.Client = target.CardClient
	if rows := host.ServerFacts(env, card); rows[len(rows)-1][0] != "card" {
		t.Errorf("a card: %q", rows)
	}
}

// A gap in a word is counted from four blanks on.
func TestShownWordCountsGaps(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"a": "a", "a b": "'a b'", "a   b": "'a   b'", "a    b": "'a⟨4 spaces⟩b'", "a \u2800\u2800  b": "'a⟨5 spaces⟩b'",
		"": "''", "    ": "'⟨4 spaces⟩'",
	} {
		if got := host.ShownWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// A value that is plainly no secret stays readable; others are hidden wherever they turn up.
func TestLearnValue(t *testing.T) {
	t.Parallel()
	for value, hidden := range map[string]bool{
		"": false, "production": false, "8080": false, "127.0.0.1:80": false, "/usr/bin": false, "~/x": false,
		"aB3dE6gH9": true, "a-long-Value-1": true, "https://user:passw0rd@h.example/": true,
	} {
		env, _ := connecttest.Env(t, "")
		env.LearnValue(value)
		got := env.Secrets.Text("the value is " + value + ".")
		if strings.Contains(got, value) == hidden {
			t.Errorf("%s: %s", value, got)
		}
	}
	env, _ := connecttest.Env(t, "")
	s := serverOf("cursor", target.Stdio)
	s.Command = []string{"run", "--token", "tok3n-of-command"}
	s.Env = []target.Setting{{Name: "A", Value: "Val-of-env-1"}}
	s.Headers = []target.Setting{{Name: "X", Value: "val-of-header"}}
	s.URL = "https://h.example/?token=tok3n-of-url"
	env.LearnServer(s)
	for _, secret := range []string{"tok3n-of-command", "Val-of-env-1", "val-of-header", "tok3n-of-url"} {
		if got := env.Secrets.Text("it says " + secret); strings.Contains(got, secret) {
			t.Errorf("%s is shown", secret)
		}
	}
}

// The value of an input comes from its variable, else from the user; it has to be one of the
// options.
func TestInputValue(t *testing.T) {
	t.Parallel()
	key := target.ClientInput{ID: "key", Description: "the key", Secret: true}
	mode := target.ClientInput{ID: "mode", Default: "a", Options: []string{"a", "b"}}
	for _, c := range []struct {
		name       string
		in         target.ClientInput
		variable   string
		atTerminal bool
		lines      []string
		want       string
		shown      string
		says       string
	}{
		{"a variable", key, "MCPC_INPUT_KEY=v4lue-of-env", false, nil, "v4lue-of-env", "", ""},
		{"no terminal", key, "", false, nil, "", "", "there is no terminal set the variable MCPC_INPUT_KEY"},
		{"typed", key, "", true, []string{"typ3d-by-hand"}, "typ3d-by-hand", "type: (secret) key: the key", ""},
		{"the default", mode, "", true, []string{""}, "a", "type: mode (a, b) [a]", ""},
		{"an option", mode, "", true, []string{"b"}, "b", "type: mode (a, b) [a]", ""},
		{
			"no option", mode, "", true,
			[]string{"c"},
			"", "type: mode (a, b) [a]",
			"mode is not one of its values it is one of a, b",
		},
		{"no option in the variable", mode, "MCPC_INPUT_MODE=c", false, nil, "", "", "mode is not one of its values"},
		{"the input has ended", key, "", true, nil, "", "type: (secret) key: the key", "the input has ended"},
	} {
		env, user := connecttest.Env(t, "")
		env.Getenv = connecttest.Getenv(c.variable)
		user.AtTerminal, user.Lines = c.atTerminal, c.lines
		got, err := env.InputValue(context.Background(), c.in)
		shown := strings.Join(user.Shown(), "\n")
		if got != c.want || !says(err, c.says) || shown != c.shown {
			t.Errorf("%s: got %q, %v, shown %q", c.name, got, err, shown)
		}
		if c.in.Secret && got != "" && strings.Contains(env.Secrets.Text("it is "+got), got) {
			t.Errorf("%s: %s is shown", c.name, got)
		}
	}
}

// A server's process gets the variables that programs need and the variables of its file, and no
// others.
func TestServerEnvironment(t *testing.T) {
	t.Parallel()
	env, user := connecttest.Env(t, "")
	env.Getenv = connecttest.Getenv("PATH=/bin", "HOME=/home/me", "AWS_SECRET=no", "PASSED=Passed-Value",
		"https_proxy=http://p")
	env.Environ = func() []string { return []string{"LC_ALL=C", "LCX=no", "AWS_SECRET=no"} }
	s := serverOf("goose", target.Stdio)
	s.Passed = []string{"PASSED", "KEYRING"}
	s.Env = []target.Setting{{Name: "OWN", Value: "1"}}
	s.EnvFile = write(t, t.TempDir(), ".env", "FILE=From-File-1\n")
	got, err := env.ServerEnvironment(s)
	want := []string{
		"PATH=/bin", "HOME=/home/me", "https_proxy=http://p", "PASSED=Passed-Value", "LC_ALL=C",
		"FILE=From-File-1", "OWN=1",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if shown := user.Shown(); len(shown) != 1 || !strings.HasPrefix(shown[0], "warn: Goose stores KEYRING in a keyring") {
		t.Errorf("shown %q", shown)
	}
	if text := env.Secrets.Text("Passed-Value From-File-1"); strings.Contains(text, "Value") ||
		strings.Contains(text, "File") {
		t.Errorf("shown: %s", text)
	}
	s.Client = serverOf("codex", target.Stdio).Client
	_, _ = env.ServerEnvironment(s)
	if shown := user.Shown(); len(shown) != 1 || shown[0] != "warn: the variable KEYRING, which Codex passes to the server, is not set" {
		t.Errorf("shown %q", shown)
	}
	s.EnvFile += "x"
	if _, err := env.ServerEnvironment(s); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without its file: %v", err)
	}
}

func TestDotenv(t *testing.T) {
	t.Parallel()
	const text = "A=1\r\n# B=2\n\nexport C = 3 \nD=\"4 5\"\nE='6'\nF=\"7'\nG=\"\nH=\n=8\nI\nJ=$A\nK=a=b\n"
	want := []string{"A=1", "C=3", "D=4 5", "E=6", `F="7'`, `G="`, "H=", "J=$A", "K=a=b"}
	var got []string
	for _, setting := range host.Dotenv(text) {
		got = append(got, setting.Name+"="+setting.Value)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A problem with a name is a usage error with a hint how to select another server.
func TestServerNamedSaysWhatToDo(t *testing.T) {
	env, _, _ := configure(t, map[string]string{
		".cursor/mcp.json":                    `{"mcpServers":{"x":{"command":"a"}}}`,
		".codeium/windsurf/mcp_config.json":   `{"mcpServers":{"x":{"command":"b"}}}`,
		"project/inner/.cursor/mcp.json":      `{"mcpServers":{"y":{"command":"b"}}}`,
		"project/.cursor/mcp.json":            `{"mcpServers":{"z":{"command":"b"}}}`,
		"project/inner/deeper/.mcp.json":      `{"mcpServers":{"w":{"command":"b"}}}`,
		"project/inner/.vscode/mcp.json":      `{"servers":{"v":{"command":"b"}}}`,
		"project/inner/.vscode/settings.json": `{}`,
	})
	_, out := env.ServerNamed("x")
	if out.Kind != wire.Usage || !strings.HasPrefix(out.Hint.String(), "-s cursor:x selects one; ") {
		t.Errorf("got %s %s", out.Kind, out.Hint)
	}
	for name, there := range map[string]bool{
		"y": true, "z": false, "w": false,
		"v": true,
	} { // the nearest file of a client
		if _, out := env.ServerNamed(name); out.OK() != there {
			t.Errorf("%s: %s", name, out.Text)
		}
	}
}
