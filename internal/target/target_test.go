package target

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

var sessions = []string{"local", "time"}

func TestPrecedence(t *testing.T) {
	all := Input{
		Command: []string{"uvx", "a b"}, Flag: "http://flag/", Environment: "time",
		Sessions: sessions, Current: "local",
	}
	for _, c := range []struct {
		name string
		drop func(*Input)
		want Target
	}{
		{"command", func(*Input) {}, Target{Kind: Command, Command: []string{"uvx", "a b"}, Source: FromCommand}},
		{"flag", func(in *Input) { in.Command = nil }, Target{Kind: URL, URL: "http://flag/", Source: FromFlag}},
		{"environment", func(in *Input) { in.Flag = "" }, Target{Kind: Session, Name: "time", Source: FromEnvironment}},
		{"session", func(in *Input) { in.Environment = "" }, Target{Kind: Session, Name: "local", Source: FromSession}},
		{"default", func(in *Input) { in.Current = "" }, Target{Kind: URL, URL: Default, Source: FromDefault}},
	} {
		c.drop(&all)
		got, err := Parse(all)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, c.want)
		}
		if got.Source.String() != c.name {
			t.Errorf("source is %s, want %s", got.Source, c.name)
		}
	}
	if u, err := parseURL(Default); u != Default {
		t.Errorf("the default is not normal: %q, %v", u, err)
	}
}

func TestURLs(t *testing.T) {
	for in, want := range map[string]string{
		"http://localhost:3001/mcp":         "",
		"https://mcp.example.com/a/b?x=1&y": "",
		"HTTP://LocalHost:03001/MCP":        "http://localhost:3001/MCP",
		"hTTps://EXAMPLE.com":               "https://example.com/",
		"http://localhost:":                 "http://localhost/",
		"http://localhost:80/":              "http://localhost/",
		"https://localhost:443?q":           "https://localhost/?q",
		"https://localhost:80/":             "",
		"http://127.0.0.1:65535/":           "",
		"http://[0:0:0:0:0:0:0:1]:3001/mcp": "http://[::1]:3001/mcp",
		"http://[::FFFF:10.0.0.1]/":         "http://[::ffff:10.0.0.1]/",
		"http://my_service:3001/":           "",
		"http://example.com./":              "",
		"http://xn--bcher-kva.example/":     "",
		"http://h/café/%C3%a9?q=é&r={}":     "http://h/caf%C3%A9/%C3%a9?q=%C3%A9&r=%7B%7D",
		"http://h//evil.example/x":          "",
		"http://h/a@b:c?u=x@y":              "",
		"http://h/?":                        "",
		"http://h/a%2Fb?100%":               "",
		"http://h/a\\b":                     "http://h/a%5Cb",
	} {
		if want == "" {
			want = in
		}
		got, err := Parse(Input{Flag: in, Sessions: sessions})
		if err != nil || got.URL != want || got.Kind != URL {
			t.Errorf("%q: got %q, %v, want %q", in, got.URL, err, want)
			continue
		}
		if u, err := url.Parse(got.URL); err != nil || u.String() != want {
			t.Errorf("%q: net/url reads %v, %v", want, u, err)
		}
	}
}

func TestInvalidTargetsAreRefusedWithoutSecrets(t *testing.T) {
	const secret = "s3cret"
	long := strings.Repeat("a", 64)
	for in, part := range map[string]string{
		"http://user:" + secret + "@localhost/":    "userinfo",
		"http://" + secret + "@localhost:3001/mcp": "userinfo",
		"http://@localhost/":                       "userinfo",
		"http://user:" + secret + "/x@localhost/":  "port",
		"http://localhost/#" + secret:              "fragment",
		"http://localhost/mcp?a#":                  "fragment",
		"http://localhost#":                        "fragment",
		"http://localhost:0/":                      "port",
		"http://localhost:65536/":                  "port",
		"http://localhost:99999999999999999999/":   "port",
		"http://localhost:-1/":                     "port",
		"http://localhost:http/":                   "port",
		"http://[fe80::1%25en0]/":                  "host",
		"http://[fe80::1%en0]:3001/":               "host",
		"http://[::1/":                             "host",
		"http://[::1]3001/":                        "host",
		"http://[127.0.0.1]/":                      "host",
		"http://::1:3001/":                         "host",
		"http://bücher.example/":                   "host",
		"http://ｌocalhost/":                        "host",
		"http://exa%6Dple.com/":                    "host",
		"http://a..b/":                             "host",
		"http://.a/":                               "host",
		"http://./":                                "host",
		"http://-a.b/":                             "host",
		"http://" + long + ".example/":             "host",
		"http://" + strings.Repeat("a.", 130):      "host",
		"http://a!b/":                              "host",
		"http://127.1/":                            "host",
		"http://2130706433/":                       "host",
		"http://0x7f000001/":                       "host",
		"http://127.0.0.01/":                       "host",
		"http://1.2.3.4.5/":                        "host",
		"http://":                                  "host",
		"http:///mcp":                              "host",
		"http://:3001/":                            "host",
		"http:\\\\localhost":                       "scheme",
		"http://localhost\\@evil.example/":         "path",
		"http:/localhost/":                         "scheme",
		"HTTP:localhost":                           "scheme",
		"ftp://localhost/":                         "scheme",
		"ws://localhost/":                          "scheme",
		"://localhost/":                            "scheme",
		"file:///etc/passwd":                       "scheme",
		"localhost:3001/mcp":                       "scheme",
		"user:" + secret + "@localhost/":           "scheme",
		"localhost/?token=" + secret:               "scheme",
		"./server.py":                              "scheme",
		"http://local host/":                       "url",
		" http://localhost/":                       "url",
		"http://localhost/\r\nX: " + secret:        "url",
		"http://localhost/\x00":                    "url",
		"http://localhost/\u202e":                  "url",
		"http://localhost/\xff":                    "url",
		"http://localhost/\u00a0":                  "url",
		"http://h/%zz":                             "path",
		"http://h/%4":                              "path",
		"npx server --token " + secret:             "target",
	} {
		for _, in := range []Input{{Flag: in}, {Environment: in}} {
			got, err := Parse(in)
			var e *Error
			if !errors.As(err, &e) || !reflect.DeepEqual(got, Target{}) {
				t.Errorf("%+v: got %+v, %v", in, got, err)
				continue
			}
			if e.Part != part {
				t.Errorf("%+v: blames the %s, not the %s: %v", in, e.Part, part, e)
			}
			checkWords(t, e)
			if strings.Contains(e.Error()+e.Hint().String(), secret) {
				t.Errorf("the error quotes a secret: %v, %s", e, e.Hint())
			}
			if prefixed := strings.HasPrefix(e.Error(), "MCPC_SERVER: "); prefixed != (in.Flag == "") {
				t.Errorf("where it stands is not said: %v", e)
			}
		}
	}
}

// checkWords holds the house rules for errors and hints.
func checkWords(t *testing.T, e interface {
	error
	Hint() wire.Hint
},
) {
	t.Helper()
	for _, s := range []string{e.Error(), e.Hint().String()} {
		if s == "" || strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "...") || strings.Contains(s, "\n") {
			t.Errorf("bad words: %q", s)
		}
	}
}

func TestHintsForMissingScheme(t *testing.T) {
	const general = "start it with http:// or https://"
	for in, want := range map[string]string{
		"localhost:3001/mcp":           "http://localhost:3001/mcp",
		"//LOCALHOST:3001/mcp":         "http://localhost:3001/mcp",
		"127.0.0.1:3001":               "http://127.0.0.1:3001/mcp",
		"localhost:3001/":              "http://localhost:3001/",
		"192.168.1.2/mcp":              "http://192.168.1.2/mcp",
		"[::1]:3001/mcp":               "http://[::1]:3001/mcp",
		"a.localhost:1/mcp":            "http://a.localhost:1/mcp",
		"mcp.example.com/mcp":          "https://mcp.example.com/mcp",
		"mcp.example.com":              "https://mcp.example.com/mcp",
		"8.8.8.8:443/":                 "https://8.8.8.8/",
		"localhost:3001/mcp?token=abc": general,
		"a:b@localhost":                general,
		"localhost:0/":                 general,
	} {
		_, err := Parse(Input{Flag: in})
		var e *Error
		if !errors.As(err, &e) || e.Hint().String() != want {
			t.Errorf("%q: got %v, want the hint %s", in, err, want)
		}
	}
}

func TestNames(t *testing.T) {
	odd := []string{"we:ird", "http://x/"}
	for in, want := range map[string]Target{
		"demo":      {Kind: Demo, Source: FromFlag},
		"local":     {Kind: Session, Name: "local", Source: FromFlag},
		"we:ird":    {Kind: Session, Name: "we:ird", Source: FromFlag},
		"http://x/": {Kind: Session, Name: "http://x/", Source: FromFlag},
	} {
		got, err := Parse(Input{Flag: in, Sessions: append(odd, sessions...)})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v", in, got, err)
		}
		if got.String() != in {
			t.Errorf("%q: prints as %q", in, got)
		}
	}
	for _, in := range []Input{
		{Flag: "locla"}, {Environment: "Local"}, {Current: "gone"}, {Flag: "localhost"}, {Flag: "Demo"}, {Flag: "x\x1by"},
	} {
		in.Sessions = sessions
		_, err := Parse(in)
		var e *UnknownError
		if !errors.As(err, &e) || !reflect.DeepEqual(e.Known, []string{"demo", "local", "time"}) {
			t.Fatalf("%+v: got %v", in, err)
		}
		if e.Name != in.Flag+in.Environment+in.Current || strings.ContainsRune(e.Error(), '\x1b') {
			t.Errorf("%+v: got %q", in, e.Error())
		}
		checkWords(t, e)
	}
}

func TestEmptyAndBadCommands(t *testing.T) {
	for part, in := range map[string]Input{
		"target":  {FlagGiven: true, Environment: "demo"},
		"command": {Command: []string{}, Flag: "demo"},
	} {
		_, err := Parse(in)
		var e *Error
		if !errors.As(err, &e) || e.Part != part {
			t.Errorf("%+v: got %v", in, err)
		}
	}
	for _, argv := range [][]string{{""}, {"", "x"}, {"a", "b\x00c"}} {
		if got, err := Parse(Input{Command: argv}); err == nil {
			t.Errorf("%q: got %+v", argv, got)
		}
	}
}

func TestCommandAsText(t *testing.T) {
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{"npx", "-y", "@scope/server@1.0", "--dir=/tmp"}, "npx -y @scope/server@1.0 --dir=/tmp"},
		{[]string{"my server", "it's", "", "*", "$HOME", "a\nb"}, `'my server' 'it'\''s' '' '*' '$HOME' "$(printf 'a\012b')"`},
	} {
		if got := (Target{Kind: Command, Command: c.argv}).String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestDifferentTargetsHaveDifferentKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, tt := range []Target{
		{Kind: URL, URL: "http://x/"},
		{Kind: Session, Name: "http://x/"},
		{Kind: Demo},
		{Kind: Session, Name: "demo"},
		{Kind: Command, Command: []string{"a", "b c"}},
		{Kind: Command, Command: []string{"a", "b", "c"}},
		{Kind: Command, Command: []string{"a b c"}},
		{Kind: Command, Command: []string{`a","b`}},
	} {
		if k := tt.Key(); seen[k] {
			t.Errorf("%q twice", k)
		} else {
			seen[k] = true
		}
	}
}

func TestZeroTargetIsNone(t *testing.T) {
	var zero Target
	if zero.Kind.String() != "none" || zero.Source.String() != "none" || zero.String() != "" {
		t.Errorf("got %v, %v, %q", zero.Kind, zero.Source, zero)
	}
}

// FuzzParse: no text makes Parse panic, and a URL that is accepted is read the
// same way again, by this package and by net/url.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "demo", "local", "http://localhost:3001/mcp", "HTTPS://[::1]:443/é?{}", "http://a:b@c/#d", "http://[fe80::1%25en0]/",
		"localhost:3001/mcp", "http://127.1/", "http://h//x?%zz", "http://h\\x", "a b", "\x00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(Input{Flag: text, FlagGiven: true, Sessions: sessions})
		if err != nil {
			return
		}
		again, err := Parse(Input{Flag: got.String(), Sessions: sessions})
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%q is %+v, and then %+v, %v", text, got, again, err)
		}
		if err := ValidName(NameFor(got, func(string) bool { return false })); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got.Kind != URL {
			return
		}
		u, err := url.Parse(got.URL)
		if err != nil || u.String() != got.URL || u.User != nil || u.Fragment != "" || u.Host == "" {
			t.Fatalf("%q is %q, and to net/url %#v, %v", text, got.URL, u, err)
		}
		if err := ValidName(got.URL); err == nil {
			t.Fatalf("%q could be a session's name", got.URL)
		}
	})
}

// A package of npm is typed as it is after npx.
func TestPackageInPlaceOfURL(t *testing.T) {
	for text, want := range map[string]string{
		"@scope/pkg":         "list -- npx -y @scope/pkg",
		"@scope/pkg@latest":  "list -- npx -y @scope/pkg@latest",
		"@scope/p.k-g@1.2.3": "list -- npx -y @scope/p.k-g@1.2.3",
		"@scope/pkg/sub":     "",
		"me@host/mcp":        "",
		"@scope/pkg?key=abc": "",
		"@scope/$(reboot)":   "",
	} {
		_, err := Parse(Input{Flag: text, FlagGiven: true})
		bad, ok := errors.AsType[*Error](err)
		if !ok || strings.Contains(string(bad.hint), "npx") != (want != "") || !strings.Contains(string(bad.hint), want) {
			t.Errorf("%s: %v, hint %q", text, err, bad.hint)
		}
	}
}
