package target

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

var served = []string{"/usr/bin/mcpc", "serve", "https://x.example/mcp"}

// An added entry keeps the form of the file, and its removal restores every byte.
func TestAddAndRemove(t *testing.T) {
	const entry = `"n": {"command": "/usr/bin/mcpc", "args": ["serve", "https://x.example/mcp"]}`
	inProject := Client{Member: []string{"projects", "/p", "servers"}}
	for name, c := range map[string]struct {
		client     Client
		text, want string
	}{
		"one line":       {inServers, `{"servers":{"a":{"command":"x"}}}`, `{"servers":{"a":{"command":"x"}, ENTRY}}`},
		"empty, inline":  {inServers, `{"servers": {}}`, `{"servers": {ENTRY}}`},
		"trailing comma": {inServers, `{"servers": {"a": {},}}`, `{"servers": {"a": {}, ENTRY,}}`},
		"lines": {
			inServers,
			"{\n    \"servers\": {\n        \"a\": {}\n    },\n    \"b\": 1\n}\n",
			"{\n    \"servers\": {\n        \"a\": {},\n        ENTRY\n    },\n    \"b\": 1\n}\n",
		},
		"empty in lines": {
			inServers,
			"{\n\t\"b\": 1,\n\t\"servers\": {}\n}",
			"{\n\t\"b\": 1,\n\t\"servers\": {\n\t\tENTRY\n\t}\n}",
		},
		"comments": {
			inServers,
			"\xEF\xBB\xBF// \"servers\"\r\n{\"servers\": {\r\n\t\"a\": {} /* 1 */, // 2\r\n\t// \"b\": {},\r\n},}\r\n",
			"\xEF\xBB\xBF// \"servers\"\r\n{\"servers\": {\r\n\t\"a\": {} /* 1 */, // 2\r\n\t// \"b\": {},\r\n\tENTRY,\r\n},}\r\n",
		},
		"comment without a comma": {
			inServers,
			"{\"servers\": {\n  \"a\": {} // 2, 3\n}}",
			"{\"servers\": {\n  \"a\": {}, // 2, 3\n  ENTRY\n}}",
		},
		"project": {
			inProject,
			"{\n  \"projects\": {\n    \"/p\": {\n      \"servers\": {\n        \"a\": {}\n      }\n    }\n  }\n}\n",
			"{\n  \"projects\": {\n    \"/p\": {\n      \"servers\": {\n        \"a\": {},\n        ENTRY\n      }\n    }\n  }\n}\n",
		},
		"TOML": {
			inTOML,
			"a = 1 # x\n[mcp_servers.a]\ncommand = \"x\"\n# end\n",
			"a = 1 # x\n[mcp_servers.a]\ncommand = \"x\"\n# end\n\nTABLE\n",
		},
		"TOML without an end of the last line": {inTOML, "[mcp_servers.a]", "[mcp_servers.a]\n\nTABLE"},
		"TOML of Windows":                      {inTOML, "[x]\r\n", "[x]\r\n\r\nTABLE\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := lineEnd([]byte(c.text))
			want := strings.NewReplacer("ENTRY", entry, "TABLE", "[mcp_servers.n]"+lines+`command = "/usr/bin/mcpc"`+
				lines+`args = ["serve", "https://x.example/mcp"]`).Replace(c.want)
			got, err := c.client.Add([]byte(c.text), "n", served)
			if err != nil || string(got) != want {
				t.Fatalf("got %q and %v\nwant %q", got, err, want)
			}
			back, err := c.client.Remove(got, "n")
			if err != nil || string(back) != c.text {
				t.Errorf("got back %q and %v\nwant %q", back, err, c.text)
			}
		})
	}
}

// Add writes the objects around the entry that are missing.
func TestAddToAFileWithoutServers(t *testing.T) {
	const entry = `"n": {"command": "/usr/bin/mcpc", "args": ["serve", "https://x.example/mcp"]}`
	for text, want := range map[string]string{
		"":                        "{\n  \"servers\": {\n    ENTRY\n  }\n}\n",
		" \n":                     "{\n  \"servers\": {\n    ENTRY\n  }\n}\n",
		"{}":                      "{\n  \"servers\": {\n    ENTRY\n  }\n}",
		"{\n\t\"a\": 1\n}":        "{\n\t\"a\": 1,\n\t\"servers\": {\n\t\tENTRY\n\t}\n}",
		`{"a": 1}`:                `{"a": 1, "servers": {ENTRY}}`,
		"{ // nothing\n}":         "{ // nothing\n  \"servers\": {\n    ENTRY\n  }\n}",
		"{\n\t\"servers\": {}\n}": "{\n\t\"servers\": {\n\t\tENTRY\n\t}\n}",
	} {
		got, err := inServers.Add([]byte(text), "n", served)
		if want = strings.ReplaceAll(want, "ENTRY", entry); err != nil || string(got) != want {
			t.Errorf("%q: got %q and %v\nwant %q", text, got, err, want)
		}
	}
	got, err := inTOML.Add(nil, "a b", served)
	if want := "[mcp_servers.\"a b\"]\ncommand"; err != nil || !strings.HasPrefix(string(got), want) {
		t.Errorf("got %q and %v", got, err)
	}
}

func TestRemoveAnyEntry(t *testing.T) {
	for name, c := range map[string]struct {
		client             Client
		text, server, want string
	}{
		"first":         {inServers, "{\"servers\": {\n  \"a\": {\"command\": \"x\"}, // 1\n  \"b\": {}\n}}", "a", "{\"servers\": { // 1\n  \"b\": {}\n}}"},
		"only":          {inServers, "{\"servers\": {\n  \"a\": {\"command\": \"x\"},\n}}", "a", "{\"servers\": {}}"},
		"with comments": {inServers, "{\"servers\": {\n  // a\n  \"a\": {\"command\": \"x\"}\n}}", "a", "{\"servers\": {\n  // a\n}}"},
		"table and its tables": {
			inTOML,
			"[mcp_servers.a]\ncommand='x'\n[mcp_servers.a.env]\nb='1'\n\n# of b\n[mcp_servers.b]\n", "a",
			"\n# of b\n[mcp_servers.b]\n",
		},
	} {
		got, err := c.client.Remove([]byte(c.text), c.server)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %q and %v\nwant %q", name, got, err, c.want)
		}
	}
}

func TestAddAndRemoveRefuseInvalidFiles(t *testing.T) {
	for _, c := range []struct {
		client     Client
		text, want string
	}{
		{inServers, `{"servers":`, "not JSON"},
		{inServers, `[]`, "not an object"},
		{inServers, `{"servers":null}`, `"servers" is not an object`},
		{inServers, `{"servers":{"n":{"url":"http://x"}}}`, "already"},
		{inTOML, "mcp_servers = {\n", "not TOML at line 1"},
		{inTOML, "mcp_servers = {}\n", "cannot add"},
		{inTOML, "[mcp_servers.n]\nurl = 'http://x'\n", "cannot add"},
	} {
		if got, err := c.client.Add([]byte(c.text), "n", served); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q and %v, want %q", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"mcp_servers = {n = {command = 'x'}}\n", "[mcp_servers]\nn.command = 'x'\n"} {
		if got, err := inTOML.Remove([]byte(text), "n"); err == nil || !strings.Contains(err.Error(), "cannot remove") {
			t.Errorf("%s: got %q and %v", text, got, err)
		}
	}
}

// The words before the URL are replaced, with the separators of the file, and back again.
func TestReplaceWords(t *testing.T) {
	for _, c := range []struct {
		count      int
		text, want string
	}{
		{
			2, `{"servers":{"a":{"command":"npx","args":["-y","mcp-remote","http://x"]}}}`,
			`{"servers":{"a":{"command":"mcpc","args":["serve","o","http://x"]}}}`,
		},
		{
			1, "{\"servers\":{\"a\":{\"args\":[\n  \"mcp-remote\",\n  \"http://x\" // x\n],\"command\":\"npx\"}}}",
			"{\"servers\":{\"a\":{\"args\":[\n  \"serve\",\n  \"o\",\n  \"http://x\" // x\n],\"command\":\"mcpc\"}}}",
		},
		{
			0, `{"servers":{"a":{"command":"mcp-remote","args":["http://x"]}}}`,
			`{"servers":{"a":{"command":"mcpc","args":["serve", "o", "http://x"]}}}`,
		},
	} {
		argv := inServers.CommandOf([]byte(c.text), "a")
		got, err := inServers.ReplaceWords([]byte(c.text), "a", c.count, []string{"mcpc", "serve", "o"})
		if err != nil || string(got) != c.want {
			t.Errorf("got %q and %v\nwant %q", got, err, c.want)
			continue
		}
		if back, err := inServers.ReplaceWords(got, "a", 2, argv[:c.count+1]); err != nil || string(back) != c.text {
			t.Errorf("got back %q and %v\nwant %q", back, err, c.text)
		}
	}
	if _, err := inServers.ReplaceWords([]byte(`{"servers":{"a":{"command":"x","args":["y"]}}}`), "a", 1, served); err == nil {
		t.Error("an entry without further arguments was changed")
	}
}

// Whatever the file holds, an entry is added or refused. The other servers stay, and a file that had a
// server is restored to the byte.
func FuzzAdd(f *testing.F) {
	f.Add([]byte(`{"servers":{"a":{"command":"npx","args":["-y",]},}} // x`))
	f.Add([]byte("\xEF\xBB\xBF{\"a\": [],\r\n\t\"servers\":{ /* b */\r\n\t\t\"a\":{} // c\r\n}}"))
	f.Add([]byte("[mcp_servers.a]\ncommand = \"npx\"\nargs = [ # x\n'y' , ]\n\n# end"))
	f.Add([]byte("mcp_servers.a.command='''\nx'''\r\n[x]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for file, c := range map[string]Client{"a.json": inServers, "a.toml": inTOML} {
			got, err := c.Add(text, "n", served)
			if err != nil {
				continue
			}
			var before, after []string
			doc, _ := Decode(file, text) // an empty file is not JSON
			for _, s := range Servers(c, file, "", doc) {
				before = append(before, s.Name+s.Fingerprint())
			}
			doc, err = Decode(file, got)
			for _, s := range Servers(c, file, "", doc) {
				if s.Name != "n" {
					after = append(after, s.Name+s.Fingerprint())
				}
			}
			back, removeErr := c.Remove(got, "n")
			if err != nil || removeErr != nil || !slices.Equal(before, after) {
				t.Errorf("%q became %q (%v), and back %q (%v)", text, got, err, back, removeErr)
			}
			if len(before) > 0 && !bytes.Equal(back, text) {
				t.Errorf("%q became %q, and back %q", text, got, back)
			}
		}
	})
}
