package target

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
)

var inServers = Client{Member: []string{"servers"}}

var inTOML = Client{Member: []string{"mcp_servers"}, paths: samePath("config.toml")}

var prefix = []string{"/usr/bin/mcpc", "tap", "--"}

// A prefix of a command is removed again to the byte, and everything else stays.
func TestWrapAndUnwrap(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain": {
			`{"servers":{"a":{"command":"npx","args":["-y","x"]},"b":{"command":"npx"}}}`,
			`{"servers":{"a":{"command":"/usr/bin/mcpc","args":["tap", "--", "npx", "-y","x"]},"b":{"command":"npx"}}}`,
		},
		"no arguments": {
			`{"servers":{"a":{"command":"npx"}}}`,
			`{"servers":{"a":{"command":"/usr/bin/mcpc", "args": ["tap", "--", "npx"]}}}`,
		},
		"empty arguments": {
			`{"servers":{"a":{"args":[ ],"command":"npx"}}}`,
			`{"servers":{"a":{"args":["tap", "--", "npx"  ],"command":"/usr/bin/mcpc"}}}`,
		},
		"escapes": {
			`{"servers":{"\u0061":{"command":"\/bin\/x \"y\"","args":["\\"]}}}`,
			`{"servers":{"\u0061":{"command":"/usr/bin/mcpc","args":["tap", "--", "\/bin\/x \"y\"", "\\"]}}}`,
		},
		"comments": {
			"\xEF\xBB\xBF// \"servers\": {\r\n{\"servers\": { /* \"a\": */ \"a\": {\r\n\t\"args\": [ // }\r\n\t\t\"-y\",\r\n\t],\r\n\t\"command\": \"npx\", // x\r\n},},}\r\n",
			"\xEF\xBB\xBF// \"servers\": {\r\n{\"servers\": { /* \"a\": */ \"a\": {\r\n\t\"args\": [\"tap\", \"--\", \"npx\",  // }\r\n\t\t\"-y\",\r\n\t],\r\n\t\"command\": \"/usr/bin/mcpc\", // x\r\n},},}\r\n",
		},
		"other members": {
			`{"a":{"command":"no"},"servers":{"x":{"a":1e3},"a":{"env":{"command":"no"},"command":"npx","args":[]}}}`,
			`{"a":{"command":"no"},"servers":{"x":{"a":1e3},"a":{"env":{"command":"no"},"command":"/usr/bin/mcpc","args":["tap", "--", "npx" ]}}}`,
		},
		"a command with a path": {
			`{"servers":{"a":{"command":{"path":"npx","args":["-y"],"env":{}}}}}`,
			`{"servers":{"a":{"command":{"path":"/usr/bin/mcpc","args":["tap", "--", "npx", "-y"],"env":{}}}}}`,
		},
		"a command with a path and no arguments": {
			`{"servers":{"a":{"command":{"path":"npx"},"args":["not of it"]}}}`,
			`{"servers":{"a":{"command":{"path":"/usr/bin/mcpc", "args": ["tap", "--", "npx"]},"args":["not of it"]}}}`,
		},
		"empty arguments as Wrap would add them": {
			`{"servers":{"a":{"command":"npx", "args": []}}}`,
			`{"servers":{"a":{"command":"/usr/bin/mcpc", "args": ["tap", "--", "npx" ]}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := inServers.Wrap([]byte(c.text), "a", prefix)
			if err != nil || string(got) != c.want {
				t.Fatalf("got %q and %v\nwant %q", got, err, c.want)
			}
			if twice, err := inServers.Wrap(got, "a", []string{`C:\other\MCPC.exe`, "tap", "--"}); err != nil || string(twice) != c.want {
				t.Errorf("put there twice it is %q, %v", twice, err)
			}
			if same, err := inServers.Unwrap([]byte(c.text), "a", prefix); err != nil || string(same) != c.text {
				t.Errorf("taken away where it is not it is %q, %v", same, err)
			}
			back, err := inServers.Unwrap(got, "a", prefix)
			if err != nil || string(back) != c.text {
				t.Errorf("got back %q and %v\nwant %q", back, err, c.text)
			}
		})
	}
}

func TestUnwrapReformattedEntry(t *testing.T) {
	got, err := inServers.Unwrap([]byte(`{"servers":{"a":{"command":"mcpc","args":[
  "tap",
  "--",
  "npx",
  "-y"
]}}}`), "a", prefix)
	if want := "{\"servers\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\"\n]}}}"; err != nil || string(got) != want {
		t.Errorf("got %q and %v", got, err)
	}
}

func TestWrapRefusesInvalidFiles(t *testing.T) {
	for text, want := range map[string]string{
		``:                                     "not JSON",
		`{"servers":`:                          "not JSON",
		`[]`:                                   "no server",
		`{"servers":[1]}`:                      "no server",
		`{"servers":{"b":{}}}`:                 "no server",
		`{"servers":{"a":{}}}`:                 "no command",
		`{"servers":{"a":[]}}`:                 "no command",
		`{"servers":{"a":{"url":"http://x"}}}`: "no command",
		`{"servers":{"a":{"command":1}}}`:      "no command",
		`{"servers":{"a":{"command":{"path":1}}}}`:     "no command",
		`{"servers":{"a":{"command":"x","args":"y"}}}`: "not a list",
		`{"servers":{"a":{"command":"x","args":[1]}}}`: "not a list",
	} {
		_, err := inServers.Wrap([]byte(text), "a", prefix)
		var entry *EntryError
		if !errors.As(err, &entry) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestClientFiles(t *testing.T) {
	env := func(name string) string { return map[string]string{"HOME": "/h", "APPDATA": "/d"}[name] }
	for _, c := range Clients {
		for _, goos := range []string{"linux", "darwin", "windows"} {
			if file := c.File(goos, env); strings.Contains(file, "$") || !slices.Contains([]string{".json", ".toml", ".yaml"}, path.Ext(file)) {
				t.Errorf("%s on %s: %s", c.Name, goos, file)
			}
		}
	}
	desktop, _ := ClientNamed("claude-desktop")
	if got := desktop.File("linux", env); got != "/h/.config/Claude/claude_desktop_config.json" {
		t.Error(got)
	}
}

// A TOML file keeps its comments and its looks, whichever way it is written.
func TestWrapAndUnwrapTOML(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"table": {
			"# mine\n[mcp_servers.a] # a\ncommand = \"npx\" # why\nargs = [ # these\n  \"-y\", # yes\n  \"x\",\n]\n[mcp_servers.b]\ncommand = \"npx\"\n",
			"# mine\n[mcp_servers.a] # a\ncommand = \"/usr/bin/mcpc\" # why\nargs = [\"tap\", \"--\", \"npx\",  # these\n  \"-y\", # yes\n  \"x\",\n]\n[mcp_servers.b]\ncommand = \"npx\"\n",
		},
		"arguments first": {
			"[mcp_servers.a]\r\nargs=[]\r\ncommand='C:\\x.exe'\r\n",
			"[mcp_servers.a]\r\nargs=[\"tap\", \"--\", 'C:\\x.exe' ]\r\ncommand=\"/usr/bin/mcpc\"\r\n",
		},
		"empty arguments": {
			"[mcp_servers.a]\ncommand = \"x\"\nargs = []\n",
			"[mcp_servers.a]\ncommand = \"/usr/bin/mcpc\"\nargs = [\"tap\", \"--\", \"x\" ]\n",
		},
		"blank arguments": {
			"[mcp_servers.a]\ncommand = \"x\"\nargs = [ ]\n",
			"[mcp_servers.a]\ncommand = \"/usr/bin/mcpc\"\nargs = [\"tap\", \"--\", \"x\"  ]\n",
		},
		"no arguments": {
			"[mcp_servers.a]\n  command = \"x\" # y\n  [mcp_servers.a.env]\n  command = \"no\"\n",
			"[mcp_servers.a]\n  command = \"/usr/bin/mcpc\"\n  args = [\"tap\", \"--\", \"x\"] # y\n  [mcp_servers.a.env]\n  command = \"no\"\n",
		},
		"in braces": {
			"[mcp_servers]\n\"a\" = { env = {command = \"no\"}, command = \"x\" }\n",
			"[mcp_servers]\n\"a\" = { env = {command = \"no\"}, command = \"/usr/bin/mcpc\", args = [\"tap\", \"--\", \"x\"] }\n",
		},
		"dotted": {"mcp_servers . a.command = \"x\"\n", "mcp_servers . a.command = \"/usr/bin/mcpc\"\nmcp_servers . a.args = [\"tap\", \"--\", \"x\"]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := inTOML.Wrap([]byte(c.text), "a", prefix)
			if err != nil || string(got) != c.want {
				t.Fatalf("got %q and %v\nwant %q", got, err, c.want)
			}
			if argv := inTOML.CommandOf(got, "a"); len(argv) < 4 || argv[1] != "tap" {
				t.Errorf("the command is now %q", argv)
			}
			back, err := inTOML.Unwrap(got, "a", prefix)
			if err != nil || string(back) != c.text {
				t.Errorf("got back %q and %v\nwant %q", back, err, c.text)
			}
		})
	}
	for text, want := range map[string]string{
		"[mcp_servers":                                      "not TOML at line 1",
		"[mcp_servers.b]\ncommand='x'":                      "no server",
		"[mcp_servers.a]\nurl='x'":                          "no command",
		"[mcp_servers.a]\ncommand=1":                        "no command",
		"[mcp_servers.a]\ncommand='x'\nargs='y'":            "not a list",
		"[mcp_servers.a]\ncommand='x'\nargs=[1]":            "not a list",
		"[mcp_servers.a]\ncommand='x'\nargs=['y', ['z']]\n": "not a list",
	} {
		if _, err := inTOML.Wrap([]byte(text), "a", prefix); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// Whatever the file holds, it is edited or refused, and an edit can be undone.
func FuzzWrap(f *testing.F) {
	f.Add([]byte(`{"servers":{"a":{"command":"npx","args":["-y",]}}} // x`))
	f.Add([]byte("\xEF\xBB\xBF{\"servers\":{\"a\":{\"args\":[],/**/\"command\":\"\\u0041\"}}}"))
	f.Add([]byte("[mcp_servers.a]\ncommand = \"npx\"\nargs = [ # x\n'y' , ]\n"))
	f.Add([]byte("mcp_servers.a = {command='''x''', args=[]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, c := range []Client{inServers, inTOML} {
			got, err := c.Wrap(text, "a", prefix)
			if err != nil || bytes.Equal(got, text) { // or it begins with the words already
				continue
			}
			back, err := c.Unwrap(got, "a", prefix)
			if err != nil || !bytes.Equal(back, text) {
				t.Errorf("%q became %q, and back %q (%v)", text, got, back, err)
			}
		}
	})
}
