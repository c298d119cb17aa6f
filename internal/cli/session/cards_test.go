package session_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/tests/clitest"

	"golang.org/x/tools/txtar"
)

// Each file of testdata/cards is a document and what mcpc init --card makes of it. The files:
//
//	args       flags of init; those of an exit code of 0 run with --dry-run
//	exit       the exit code
//	card.json  the document
//	want       stdout and stderr
//
// In each directory there is a program for every way to run a package that leaves a file behind
// when it is started.

var updateCards = flag.Bool("cards", false, "write what testdata/cards wants anew")

// A cardWorld is a directory with a state and with programs that say that they ran. It is that of the process.
type cardWorld struct {
	t    *testing.T
	dir  string
	home *clitest.Home
}

func newCardWorld(t *testing.T) *cardWorld {
	t.Helper()
	home := clitest.EnterHome(t)
	w := &cardWorld{t, home.Dir, home}
	for _, name := range []string{"npx", "uvx", "docker", "dnx", "sh", "curl", "node", "python3"} {
		w.write(filepath.Join("bin", name), "#!/usr/bin/env bash\necho \"$0 $*\" >>"+filepath.Join(w.dir, "ran")+"\nexec mcpc demo --stdio\n", 0o755)
	}
	path := filepath.Join(w.dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
	t.Setenv("PATH", path)
	home.Env = append(home.Env, "PATH="+path)
	return w
}

func (w *cardWorld) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode)); err != nil {
		w.t.Fatal(err)
	}
}

// mcpc runs a command line of mcpc, and returns what it printed and its exit code.
func (w *cardWorld) mcpc(more []string, args ...string) (out string, code int) {
	w.t.Helper()
	var text clitest.Buffer
	run := clitest.Run{Args: args, Env: append(slices.Clone(w.home.Env), more...), Stdout: &text, Stderr: &text}
	code = run.Do()
	return strings.ReplaceAll(text.String(), w.dir, "DIR"), code
}

// ran is what the programs of the world were started with.
func (w *cardWorld) ran() string {
	raw, _ := os.ReadFile(filepath.Join(w.dir, "ran"))
	return string(raw)
}

// keepsNoSecret looks for a canary in the state.
func (w *cardWorld) keepsNoSecret() {
	w.t.Helper()
	files := 0
	err := filepath.WalkDir(filepath.Join(w.dir, "state"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		if raw, _ := os.ReadFile(path); bytes.Contains(raw, []byte("CANARY")) {
			w.t.Errorf("%s has the secret", path)
		}
		return nil
	})
	if err != nil || files == 0 {
		w.t.Fatalf("%d files, %v", files, err)
	}
}

func TestCardsResolve(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Fatal("the programs are scripts")
	}
	dir, err := filepath.Abs(filepath.Join("testdata", "cards"))
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(names) < 60 {
		t.Fatalf("%d cards: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			for _, f := range a.Files {
				files[f.Name] = string(f.Data)
			}
			w := newCardWorld(t)
			w.write("card.json", files["card.json"], 0o600)
			args := append([]string{"init", "--experimental", "--card", "card.json", "--no-record"}, strings.Fields(files["args"])...)
			if strings.TrimSpace(files["exit"]) == "0" {
				args = append(args, "--dry-run")
			}
			out, code := w.mcpc(nil, args...)
			if strconv.Itoa(code) != strings.TrimSpace(files["exit"]) {
				t.Errorf("exit code %d\n%s", code, out)
			}
			if ran := w.ran(); ran != "" {
				t.Errorf("it ran %s", ran)
			}
			if *updateCards {
				a.Files = append(slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" }), txtar.File{Name: "want", Data: []byte(out)})
				if err := os.WriteFile(name, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if out != files["want"] {
				t.Errorf("got\n%swant\n%s", out, files["want"])
			}
		})
	}
}

// An approved entry is started as it was shown, and its secrets are nowhere afterwards.
func TestACardBecomesASession(t *testing.T) {
	w := newCardWorld(t)
	w.write("server.json", `{"name": "com.example/mcpc-demo", "description": "d", "version": "1.0.0", "packages": [{"registryType": "npm",
		"identifier": "@example/weather", "version": "1.2.3", "transport": {"type": "stdio"},
		"packageArguments": [{"type": "positional", "valueHint": "city", "isRequired": true}, {"type": "positional", "value": "${HOME}"}],
		"environmentVariables": [{"name": "WEATHER_KEY", "isRequired": true, "isSecret": true}]}]}`, 0o600)
	open := []string{"init", "--experimental", "--card", "server.json", "--as", "w", "--input", "city=a b;c"}
	want := `"kind":"stdio","command":["npx","-y","@example/weather@1.2.3","a b;c","${HOME}"],"env":["WEATHER_KEY"],"inputs":[{"id":"WEATHER_KEY","required":true,"secret":true}]}`
	if out, code := w.mcpc(nil, append(open, "--dry-run", "--json")...); code != 0 || !strings.HasSuffix(out, want+"\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if out, code := w.mcpc(nil, open...); code != 12 || !strings.Contains(out, "--yes approves it without asking") || w.ran() != "" {
		t.Fatalf("exit code %d, ran %q\n%s", code, w.ran(), out)
	}
	if out, code := w.mcpc(nil, append(open, "--yes", "--input", "WEATHER_KEY=CANARYkey123456")...); code != 0 || strings.Contains(out, "not up to date") || strings.Contains(out, "CANARY") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if want := filepath.Join(w.dir, "bin", "npx") + " -y @example/weather@1.2.3 a b;c ${HOME}\n"; w.ran() != want {
		t.Errorf("ran %q, want %q", w.ran(), want)
	}
	// The session knows the name of the secret, and neither the secret nor the card's file.
	if err := os.Remove(filepath.Join(w.dir, "server.json")); err != nil {
		t.Fatal(err)
	}
	if out, code := w.mcpc(nil, "call", "echo", "message=hi"); code != 2 || !strings.Contains(out, "set the variable MCPC_INPUT_WEATHER_KEY") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if out, code := w.mcpc([]string{"MCPC_INPUT_WEATHER_KEY=CANARYkey123456"}, "call", "echo", "message=hi"); code != 0 || out != "Echo: hi\n" {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if out, _ := w.mcpc(nil, "sessions", "--json"); strings.Contains(out, "entry") || !strings.Contains(out, "com.example/mcpc-demo") {
		t.Errorf("sessions: %s", out)
	}
	w.keepsNoSecret()
	// Without the approval it is a stranger's command again.
	w.mcpc(nil, "trust", "card:com.example/mcpc-demo", "--revoke")
	if out, code := w.mcpc([]string{"MCPC_INPUT_WEATHER_KEY=x"}, "call", "echo", "message=hi"); code != 12 || !strings.Contains(out, "init --experimental --card") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// A server that differs from its card is used all the same; with --strict the exit code says so.
func TestACardThatIsNotUpToDate(t *testing.T) {
	w := newCardWorld(t)
	w.write("card.json", `{"name": "com.example/weather", "description": "d", "version": "9.9.9",
		"packages": [{"registryType": "pypi", "identifier": "weather", "version": "1.0", "transport": {"type": "stdio"}}]}`, 0o600)
	open := []string{"init", "--experimental", "--card", "card.json", "--yes"}
	out, code := w.mcpc(nil, open...)
	for _, part := range []string{"the card names it com.example/weather, the server mcpc-demo", "the card has version 9.9.9, the server 1.0.0", "session\tweather"} {
		if !strings.Contains(out, part) || code != 0 {
			t.Errorf("exit code %d, not shown: %s\n%s", code, part, out)
		}
	}
	if out, code := w.mcpc(nil, append(open, "--strict")...); code != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// cardSite serves documents, some of which are traps.
func cardSite(t *testing.T) (url string, asked func() []string) {
	t.Helper()
	const card = `{"$schema": "https://schemas.example/v1/server-card.schema.json", "name": "com.example/w", "description": "d", "version": "1.0.0",
		"remotes": [{"type": "streamable-http", "url": %q}]}`
	catalog := func(url string) string {
		return fmt.Sprintf(`{"specVersion": "1.0", "entries": [{"identifier": "a", "type": "application/mcp-server-card+json", "url": %q}]}`, url)
	}
	var seen syncList
	var site *httptest.Server
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r.URL.Path + " " + r.Header.Get("Accept"))
		w.Header().Set("Content-Type", "application/json")
		reply := func(text string) { _, _ = w.Write([]byte(text)) }
		switch path := r.URL.Path; path {
		case "/card", "/.well-known/mcp/server-card.json":
			reply(fmt.Sprintf(card, site.URL+"/mcp"))
		case "/metadata-host":
			reply(fmt.Sprintf(card, "https://169.254.169.254/mcp"))
		case "/large":
			reply(`{"name": "com.example/w", "x": "`)
			block := bytes.Repeat([]byte("x"), 1<<20)
			for i := 0; i < 100; i++ {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		case "/.well-known/ai-catalog.json": // as sites for people answer
			w.Header().Set("Content-Type", "text/html")
			reply("<html>")
		case "/catalog":
			reply(catalog(site.URL + "/card"))
		case "/loop":
			reply(strings.ReplaceAll(catalog(site.URL+"/loop"), "mcp-server-card", "ai-catalog"))
		case "/to-file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/to-metadata":
			http.Redirect(w, r, "https://169.254.169.254/latest", http.StatusFound)
		case "/to-http":
			http.Redirect(w, r, "http://cards.example/card", http.StatusFound)
		case "/to-itself":
			http.Redirect(w, r, "/to-itself", http.StatusFound)
		case "/names-file":
			reply(catalog("file:///etc/passwd"))
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			reply("<html>")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	return site.URL, seen.all
}

func TestCardsOfASite(t *testing.T) {
	site, asked := cardSite(t)
	w := newCardWorld(t)
	for _, c := range []struct {
		source string
		code   int
		part   string
	}{
		{site + "/card", 0, "url\t" + site + "/mcp"},
		{site + "/catalog", 0, "card\t" + site + "/card"},
		{strings.TrimPrefix(site, "http://"), 0, "at /.well-known/mcp/server-card.json, which is outdated"},
		{site + "/metadata-host", 12, "a public server named a private network address"},
		{site + "/large", 8, "answered with more than 1 MiB"},
		{site + "/loop", 12, "the catalog leads to itself"},
		{site + "/to-file", 12, "not an https URL"},
		{site + "/to-metadata", 12, "private network address"},
		{site + "/to-http", 12, "http is allowed on loopback only"},
		{site + "/to-itself", 12, "more than three metadata redirects"},
		{site + "/names-file", 12, "not an https URL"},
		{site + "/page", 8, "the document is not JSON"},
		{site + "/nothing", 7, "the URL of the card returned HTTP 404 (" + site + "/nothing)\nhint: --card takes the URL of a card itself"},
		{"http://cards.example/card", 12, "http is allowed on loopback only"},
		{"file:///etc/passwd", 2, "--card takes a file, an https URL or a host"},
		{"missing.json", 2, "no such file"},
		{"127.0.0.1:1", 7, "could not be reached"},
	} {
		out, code := w.mcpc(nil, "init", "--experimental", "--card", c.source, "--dry-run", "--no-record")
		if code != c.code || !strings.Contains(out, c.part) || w.ran() != "" {
			t.Errorf("%s: exit code %d, want %d with %q\n%s", c.source, code, c.code, c.part, out)
		}
	}
	if all := asked(); !slices.Contains(all, "/.well-known/ai-catalog.json application/ai-catalog+json, application/mcp-server-card+json, application/json;q=0.5") || slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, "/mcp") }) {
		t.Errorf("asked: %q", all)
	}
}

// A syncList is a list that handlers add to.
type syncList struct {
	mu    sync.Mutex
	items []string
}

func (l *syncList) add(item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = append(l.items, item)
}

func (l *syncList) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.items)
}
