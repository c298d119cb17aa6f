package target

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

var prefix = []string{"/usr/bin/mcpc", "tap", "--"}

// What is put before a command is taken away again to the byte, and everything else
// stays.
func TestWrapAndUnwrap(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain": {`{"servers":{"a":{"command":"npx","args":["-y","x"]},"b":{"command":"npx"}}}`,
			`{"servers":{"a":{"command":"/usr/bin/mcpc","args":["tap", "--", "npx", "-y","x"]},"b":{"command":"npx"}}}`},
		"no arguments": {`{"servers":{"a":{"command":"npx"}}}`,
			`{"servers":{"a":{"command":"/usr/bin/mcpc", "args": ["tap", "--", "npx"]}}}`},
		"empty arguments": {`{"servers":{"a":{"args":[ ],"command":"npx"}}}`,
			`{"servers":{"a":{"args":["tap", "--", "npx" ],"command":"/usr/bin/mcpc"}}}`},
		"escapes": {`{"servers":{"\u0061":{"command":"\/bin\/x \"y\"","args":["\\"]}}}`,
			`{"servers":{"\u0061":{"command":"/usr/bin/mcpc","args":["tap", "--", "\/bin\/x \"y\"", "\\"]}}}`},
		"comments": {"\xEF\xBB\xBF// \"servers\": {\r\n{\"servers\": { /* \"a\": */ \"a\": {\r\n\t\"args\": [ // }\r\n\t\t\"-y\",\r\n\t],\r\n\t\"command\": \"npx\", // x\r\n},},}\r\n",
			"\xEF\xBB\xBF// \"servers\": {\r\n{\"servers\": { /* \"a\": */ \"a\": {\r\n\t\"args\": [\"tap\", \"--\", \"npx\",  // }\r\n\t\t\"-y\",\r\n\t],\r\n\t\"command\": \"/usr/bin/mcpc\", // x\r\n},},}\r\n"},
		"other members": {`{"a":{"command":"no"},"servers":{"x":{"a":1e3},"a":{"env":{"command":"no"},"command":"npx","args":[]}}}`,
			`{"a":{"command":"no"},"servers":{"x":{"a":1e3},"a":{"env":{"command":"no"},"command":"/usr/bin/mcpc","args":["tap", "--", "npx"]}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Wrap([]byte(c.text), "servers", "a", prefix)
			if err != nil || string(got) != c.want {
				t.Fatalf("got %q and %v\nwant %q", got, err, c.want)
			}
			if _, err := Wrap(got, "servers", "a", []string{`C:\other\MCPC.exe`, "tap", "--"}); err == nil {
				t.Error("it could be put there twice")
			}
			back, err := Unwrap(got, "servers", "a", prefix)
			if err != nil || string(back) != c.text {
				t.Errorf("got back %q and %v\nwant %q", back, err, c.text)
			}
		})
	}
}

func TestUnwrapWhatWasSetOutAnew(t *testing.T) {
	got, err := Unwrap([]byte(`{"s":{"a":{"command":"mcpc","args":[
  "tap",
  "--",
  "npx",
  "-y"
]}}}`), "s", "a", prefix)
	if want := "{\"s\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\"\n]}}}"; err != nil || string(got) != want {
		t.Errorf("got %q and %v", got, err)
	}
}

func TestWhatCannotBeWrapped(t *testing.T) {
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
		`{"servers":{"a":{"command":"x","args":"y"}}}`: "no list",
		`{"servers":{"a":{"command":"x","args":[1]}}}`: "no list",
	} {
		_, err := Wrap([]byte(text), "servers", "a", prefix)
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
			if file := c.File(goos, env); strings.Contains(file, "$") || !strings.HasSuffix(file, ".json") {
				t.Errorf("%s on %s: %s", c.Name, goos, file)
			}
		}
	}
	desktop, _ := ClientNamed("claude-desktop")
	if got := desktop.File("linux", env); got != "/h/.config/Claude/claude_desktop_config.json" {
		t.Error(got)
	}
}

// Whatever the file holds, it is edited or refused, and an edit can be undone.
func FuzzWrap(f *testing.F) {
	f.Add([]byte(`{"servers":{"a":{"command":"npx","args":["-y",]}}} // x`))
	f.Add([]byte("\xEF\xBB\xBF{\"servers\":{\"a\":{\"args\":[],/**/\"command\":\"\\u0041\"}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Wrap(text, "servers", "a", prefix)
		if err != nil {
			return
		}
		back, err := Unwrap(got, "servers", "a", prefix)
		if err != nil || !bytes.Equal(back, text) {
			t.Errorf("%q became %q, and back %q (%v)", text, got, back, err)
		}
	})
}
