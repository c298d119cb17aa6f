package target

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

func TestVariables(t *testing.T) {
	lookup := Lookup{
		Home: "/home/ada",
		Env: func(name string) (string, bool) {
			v := map[string]string{"A": "1", "B_2": "two"}[name]
			return v, v != ""
		},
		Input: func(in ClientInput) (string, error) { return "<" + in.ID + ">", nil },
	}
	s := Server{Folder: "/srv/app", Inputs: []ClientInput{{ID: "key"}}}
	plain := s
	plain.Client.plainVariables = true
	for _, c := range []struct {
		server     Server
		text, want string
	}{
		{s, "", ""},
		{s, "a$b ${} $", "a$b ${} $"},
		{s, "${A}", "1"},
		{s, "x${A}${env:B_2}y", "x1twoy"},
		{s, "${NO:-other}", "other"},
		{s, "${NO:-}", ""},
		{s, "${A:-other}", "1"},
		{s, "${NO:-a:-b}", "a:-b"},
		{s, "${workspaceFolder}/x", "/srv/app/x"},
		{s, "${workspaceFolderBasename}", "app"},
		{s, "${userHome}", "/home/ada"},
		{s, "${input:key}", "<key>"},
		{s, "$A", "$A"},
		{plain, "$A-$B_2", "1-two"},
		{plain, "$$A", "$1"},
		{plain, "5$", "5$"},
		{s, "${A", "${A"},
		{s, "${A}${A}", "11"},
		{s, "$${A}", "$1"},
	} {
		if got, err := c.server.expand(c.text, lookup, nil); err != nil || got != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.text, got, err, c.want)
		}
	}
	for text, want := range map[string]VariableError{
		"${NO}": {Variable: "${NO}", Env: "NO"}, "a${env:NO}b": {Variable: "${env:NO}", Env: "NO"}, "${input:no}": {Variable: "${input:no}"},
		"${command:x}": {Variable: "${command:x}"}, "${file:/etc/passwd}": {Variable: "${file:/etc/passwd}"}, "${$(touch x)}": {Variable: "${$(touch x)}"},
	} {
		var failed *VariableError
		if _, err := s.expand(text, lookup, nil); !errors.As(err, &failed) || *failed != want {
			t.Errorf("%q: got %v, want %v", text, err, want)
		}
	}
}

// A change of what would run makes a different server, and a new value does not.
func TestFingerprint(t *testing.T) {
	base := func() Server {
		return Server{Kind: Stdio, Command: []string{"npx", "x"}, Env: []Setting{{"TOKEN", "1"}, {"PATH", "/bin"}}, Folder: "/app", Cwd: "/srv"}
	}
	for name, c := range map[string]struct {
		change func(*Server)
		same   bool
	}{
		"value":              {func(s *Server) { s.Env[0].Value = "2" }, true},
		"order":              {func(s *Server) { s.Env[0], s.Env[1] = s.Env[1], s.Env[0] }, true},
		"name":               {func(s *Server) { s.Name = "other" }, true},
		"file":               {func(s *Server) { s.File = "/other" }, true},
		"current folder":     {func(s *Server) { s.Folder = "/other" }, true},
		"program":            {func(s *Server) { s.Command[0] = "uvx" }, false},
		"argument":           {func(s *Server) { s.Command[1] = "y" }, false},
		"argument parted":    {func(s *Server) { s.Command = []string{"npx x"} }, false},
		"one argument more":  {func(s *Server) { s.Command = append(s.Command, "") }, false},
		"variable":           {func(s *Server) { s.Env[0].Name = "KEY" }, false},
		"variable handed on": {func(s *Server) { s.Passed = []string{"AWS_SECRET"} }, false},
		"whose value":        {func(s *Server) { s.Env[0].Value = "${AWS_SECRET}" }, false},
		"what is loaded":     {func(s *Server) { s.Env[1].Value = "/tmp/evil" }, false},
		"folder":             {func(s *Server) { s.Cwd = "/tmp" }, false},
		"file of variables":  {func(s *Server) { s.EnvFile = ".env" }, false},
		"project":            {func(s *Server) { s.Client.Project = true }, false},
	} {
		s := base()
		c.change(&s)
		if same := s.Fingerprint() == base().Fingerprint(); same != c.same {
			t.Errorf("%s: the same is %v", name, same)
		}
	}
	web := Server{Kind: HTTP, URL: "https://h/", Headers: []Setting{{"Authorization", "Bearer a"}}}
	other := web
	other.Headers = []Setting{{"Authorization", "Bearer ${GITHUB_TOKEN}"}}
	if web.Fingerprint() == other.Fingerprint() {
		t.Error("what goes to a server is another variable now, and nobody is asked")
	}
}

// Entries that make no sense are shown, and nothing in them is believed.
func TestInvalidEntriesHaveProblems(t *testing.T) {
	for text, want := range map[string]Server{
		`{"a": 1}`:                              {Kind: Stdio, Problem: "its entry is not an object"},
		`{"a": {}}`:                             {Kind: Stdio, Problem: "its entry has neither a command nor a URL"},
		`{"a": {"command": ""}}`:                {Kind: Stdio, Command: []string{""}, Problem: "its command is empty"},
		`{"a": {"command": 1}}`:                 {Kind: Stdio, Problem: "its command is empty"},
		`{"a": {"command": ["x", "y"]}}`:        {Kind: Stdio, Command: []string{"x", "y"}},
		`{"a": {"command": "x", "args": null}}`: {Kind: Stdio, Command: []string{"x"}},
		`{"a": {"command": "x", "url": "https://h/", "type": "http"}}`: {Kind: HTTP, URL: "https://h/"},
		`{"a": {"command": "x", "url": "https://h/"}}`:                 {Kind: Stdio, Command: []string{"x"}},
		`{"a": {"command": "x", "env": {"A": 1, "B": true, "C": null, "D": {}, "E": "e"}}}`: {
			Kind: Stdio, Command: []string{"x"},
			Env: []Setting{{"A", "1"}, {"B", "true"}, {"E", "e"}},
		},
	} {
		all := Servers(inServers, "f", "", json.RawMessage(`{"servers": `+text+`}`))
		if len(all) != 1 {
			t.Errorf("%s: got %v", text, all)
			continue
		}
		want.Client, want.File, want.Name = inServers, "f", "a"
		if !reflect.DeepEqual(all[0], want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", text, all[0], want)
		}
	}
	twice := Servers(inServers, "f", "", json.RawMessage(`{"servers": {"a": {"command": "x"}, "a": {"command": "y"}}}`))
	if len(twice) != 2 || twice[0].Problem == "" || twice[1].Problem == "" {
		t.Errorf("a name that stands twice means one of them: %+v", twice)
	}
}

func FuzzServers(f *testing.F) {
	f.Add([]byte(`{"servers":{"a":{"command":["x"],"args":["${A}"],"env":{"A":"$B"}}},"inputs":[{"id":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"x.json", "x.toml"} {
			doc, err := Decode(name, text)
			if err != nil {
				continue
			}
			for _, c := range []Client{inServers, inTOML, {Name: "goose", Member: []string{"extensions"}}} {
				for _, s := range Servers(c, name, "/f", doc) {
					_, _ = s.Resolved(Lookup{Env: func(string) (string, bool) { return "", false }})
					if s.Fingerprint() == "" || s.Problem == "" && (s.Kind == Stdio) != (len(s.Command) > 0) {
						t.Errorf("%q: %+v", text, s)
					}
				}
			}
		}
	})
}

// A name in a configuration means its server where nothing that is nearer has the name.
func TestKnownTargets(t *testing.T) {
	known := func() []string {
		return []string{"local", "demo", "git", "cursor:git", "a b", "github.com/x/y", "http://h/"}
	}
	for text, want := range map[string]Target{
		"git": {Kind: Known, Name: "git"}, "cursor:git": {Kind: Known, Name: "cursor:git"}, "a b": {Kind: Known, Name: "a b"},
		"github.com/x/y": {Kind: Known, Name: "github.com/x/y"}, "local": {Kind: Session, Name: "local"}, "demo": {Kind: Demo},
		"http://h/": {Kind: URL, URL: "http://h/"},
	} {
		want.Source = FromFlag
		if got, err := Parse(Input{Flag: text, Sessions: sessions, Known: known}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"gitt", "cursor:gitt", "zed:"} {
		var failed *UnknownError
		if _, err := Parse(Input{Flag: text, Known: known}); !errors.As(err, &failed) || failed.Name != text {
			t.Errorf("%q: got %v", text, err)
		}
	}
	asked := false
	_, _ = Parse(Input{Flag: "http://h/", Known: func() []string { asked = true; return nil }})
	_, _ = Parse(Input{Flag: "demo", Known: func() []string { asked = true; return nil }})
	_, _ = Parse(Input{Flag: "local", Sessions: sessions, Known: func() []string { asked = true; return nil }})
	if asked {
		t.Error("files are read for what has no need of them")
	}
}

// mcp-remote and mcpc serve replace ${NAME} in their arguments by a variable that the entry sets.
func TestResolvedKeepsVariablesOfTheEntry(t *testing.T) {
	s := Server{
		Command: []string{"npx", "mcp-remote", "--header", "A:${TOKEN}", "${env:TOKEN}"},
		Env:     []Setting{{"TOKEN", "t"}},
	}
	env := map[string]string{}
	lookup := Lookup{Env: func(name string) (string, bool) { value, ok := env[name]; return value, ok }}
	if _, err := s.Resolved(lookup); err == nil || err.Error() != "the variable TOKEN is not set" {
		t.Errorf("${env:TOKEN}, which only a client replaces: %v", err)
	}
	s.Command = s.Command[:4]
	if got, err := s.Resolved(lookup); err != nil || got.Command[3] != "A:${TOKEN}" {
		t.Errorf("got %q and %v", got.Command, err)
	}
	env["TOKEN"] = "mine"
	if got, err := s.Resolved(lookup); err != nil || got.Command[3] != "A:mine" {
		t.Errorf("got %q and %v", got.Command, err)
	}
	s.Env[0].Value = "${OTHER}"
	if _, err := s.Resolved(lookup); err == nil {
		t.Error("a variable without a value in env")
	}
}
