package target

import (
	"strings"
	"testing"
)

func free(string) bool { return false }

func TestNameForURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://localhost:3001/mcp":                             "localhost-3001",
		"http://127.0.0.1:3001/mcp":                             "localhost-3001",
		"http://[::1]:3001/mcp":                                 "localhost-3001",
		"http://localhost/":                                     "localhost",
		"http://10.0.0.7:8080/":                                 "10-0-0-7-8080",
		"http://[fe80::1]/":                                     "fe80-1",
		"https://mcp.notion.com/mcp":                            "notion",
		"https://mcp.linear.app/sse":                            "linear",
		"https://api.githubcopilot.com/mcp/":                    "githubcopilot",
		"https://example.com./":                                 "example",
		"https://mcp.com/":                                      "mcp",
		"https://a.b.example.co.uk/":                            "a-b-example-co",
		"http://localhost:3001/pingme/mcp":                      "localhost-3001-pingme",
		"https://mcp.zapier.com/api/mcp/s/MWQ4Zj0x/mcp":         "zapier",
		"https://h.example/t0ken123/mcp?key=secret":             "h",
		"https://demo.example.com/":                             "demo-example",
		"https://demo.com/":                                     "server-1",
		"http://my_box:1/":                                      "my_box-1",
		"https://" + strings.Repeat("long-", 12) + "x.example/": "long-long-long-long-long-long-lo",
	} {
		got, err := Parse(Input{Flag: in})
		if err != nil {
			t.Fatal(err)
		}
		if name := NameFor(got, free); name != want {
			t.Errorf("%s: got %s, want %s", in, name, want)
		} else if err := ValidName(name); err != nil {
			t.Error(err)
		}
	}
}

func TestNameForCommand(t *testing.T) {
	for in, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-everything@2026.1.0 stdio": "everything",
		"uvx mcp-server-time --local-timezone=Europe/Berlin":            "time",
		"uv run server.py":              "server-1",
		"python -m mcp_server_git":      "git",
		"python3 ./weather.py":          "weather",
		"node build/index.js":           "index",
		"go run ./cmd/weather-mcp":      "weather",
		"/usr/local/bin/GitHub-MCP":     "github-mcp",
		"docker run -e TOKEN=abc image": "docker",
		`C:\tools\server.exe`:           "server-1",
		"env TOKEN=s3cret node x":       "env",
		"demo":                          "server-1",
		"./...":                         "server-1",
		"日本":                            "server-1",
		"npx":                           "npx",
		"mcp-":                          "mcp",
	} {
		if got := NameFor(Target{Kind: Command, Command: strings.Fields(in)}, free); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestNameForIsNotTaken(t *testing.T) {
	taken := map[string]bool{"localhost-3001": true, "localhost-3001-2": true}
	got := NameFor(Target{Kind: URL, URL: Default}, func(n string) bool { return taken[n] })
	if got != "localhost-3001-3" {
		t.Errorf("got %s", got)
	}
	if got := NameFor(Target{Kind: Demo}, free); got != "demo-server" {
		t.Errorf("got %s", got)
	}
	if got := NameFor(Target{Kind: Session, Name: "Mine"}, func(string) bool { return true }); got != "Mine" {
		t.Errorf("got %s", got)
	}
}

func TestValidName(t *testing.T) {
	for _, good := range []string{"a", "7", "local-3001", "A_b-C", strings.Repeat("x", maxName)} {
		if err := ValidName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "demo", "Demo", "-x", "_x", "a b", "a.b", "a/b", "http://x", "a:b", "é", "a\n", "$x", "a'b", "*", strings.Repeat("x", maxName+1),
	} {
		err := ValidName(bad)
		e, ok := err.(*Error)
		if !ok || e.Part != "name" {
			t.Errorf("%q: got %v", bad, err)
			continue
		}
		checkWords(t, e)
		if looksLikeURL(bad) && !strings.Contains(e.Error(), "character") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
}
