package redact

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/wire"
)

const canary = "CANARYzq5"

func TestRedacted(t *testing.T) {
	if got, want := Redacted("hello"), "••••(len 5, sha256:2cf2)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if Redacted("a") == Redacted("b") {
		t.Error("secrets cannot be told apart")
	}
}

func TestRedactField(t *testing.T) {
	hidden := Redacted(canary)
	for _, c := range []struct{ name, value, want string }{
		{"Authorization", "Bearer " + canary, "Bearer " + hidden},
		{"AUTHORIZATION", "bEARER " + canary, "bEARER " + hidden},
		{"Authorization", "Bearer  " + canary, "Bearer " + Redacted(" "+canary)},
		{"Authorization", canary, hidden},
		{"Authorization", canary + " and more", Redacted(canary + " and more")},
		{"Authorization", "Bearer\t" + canary, Redacted("Bearer\t" + canary)},
		{"Authorization", "token", Redacted("token")},
		{"Authorization", "Digest username=\"u\", response=\"" + canary + `"`, "Digest " + Redacted(`username="u", response="`+canary+`"`)},
		{"Proxy-Authorization", "Basic " + canary, "Basic " + hidden},
		{"X-Amz-Authorization", "AWS4-HMAC-SHA256 " + canary, Redacted("AWS4-HMAC-SHA256 " + canary)},
		{"Cookie", "a=" + canary + "; b=1", Redacted("a=" + canary + "; b=1")},
		{"set-cookie", canary, hidden},
		{"MCP-Session-Id", canary, hidden},
		{"X-Session-ID", canary, hidden},
		{"X-Api-Key", canary, hidden},
		{"OPENAI-API-KEY", canary, hidden},
		{"x_api_key", canary, hidden},
		{"Ocp-Apim-Subscription-Key", canary, hidden},
		{"X-Auth-Token", canary, hidden},
		{"X-Auth", canary, hidden},
		{"Token", canary, hidden},
		{"X-CSRF-Token", canary, hidden},
		{"Cf-Access-Client-Secret", canary, hidden},
		{"X-Hub-Signature", canary, hidden},
		{"DPoP", canary, hidden},
		{"Location", "https://h/cb?code=" + canary + "&x=1", "https://h/cb?code=" + placeholderInURL(hidden) + "&x=1"},
		{"Referer", "https://u:" + canary + "@h/", "https://redacted@h/"},
		{"X-Api-Key", "", ""},
		{"Authorization", "", ""},
		{"Accept", "text/event-stream", "text/event-stream"},
		{"WWW-Authenticate", `Bearer resource_metadata="https://h/x"`, `Bearer resource_metadata="https://h/x"`},
		{"Idempotency-Key", "1", "1"},
		{"Mcp-Protocol-Version", "2025-11-25", "2025-11-25"},
		{"Mcp-Name", "get-token-count", "get-token-count"},
		{"Last-Event-ID", "7", "7"},
		{"", "", ""},
	} {
		got := RedactField(wire.Field{Name: c.name, Value: c.value})
		if got.Name != c.name || got.Value != c.want {
			t.Errorf("%s: %s became %s: %s, want %s", c.name, c.value, got.Name, got.Value, c.want)
		}
		if again := RedactField(got); again != got {
			t.Errorf("%v redacted again is %v", got, again)
		}
	}
}

func TestRedactURL(t *testing.T) {
	shown := placeholderInURL(Redacted(canary))
	for _, c := range []struct{ raw, want string }{
		{"http://localhost:3001/mcp", "http://localhost:3001/mcp"},
		{"", ""},
		{"not a URL", "not a URL"},
		{"?", "?"},
		{"#", "#"},
		{"http://h/?a&b=&=c#", "http://h/?a&b=&=c#"},
		{"HTTP://Host/%7e/a%2fb?q=%41+b&x", "HTTP://Host/%7e/a%2fb?q=%41+b&x"},
		{"https://h/@scope/name", "https://h/@scope/name"},
		{"https://h/?mail=a@b", "https://h/?mail=a@b"},

		{"https://u:" + canary + "@h/mcp", "https://redacted@h/mcp"},
		{"https://" + canary + "@h", "https://redacted@h"},
		{"https://u:p@" + canary + "@h/@x", "https://redacted@h/@x"},
		{"//u:" + canary + "@h/", "//redacted@h/"},
		{"u:" + canary + "@h/mcp", "redacted@h/mcp"},
		{"https://u:" + canary + "/x@h/mcp", "https://redacted@h/mcp"},
		{"https://u:p#" + canary + "@h/mcp", "https://redacted@h/mcp"},
		{"https://u:p?" + canary + "@h/mcp", "https://redacted@h/mcp"},
		{"https://u:%zz" + canary + "@h:port/mcp", "https://redacted@h:port/mcp"},
		{"https://u:" + canary + "\x7f@h/", "https://redacted@h/"},
		{"https://u:" + canary + "?token=x@h/", "https://redacted"},
		{"https://u:p@" + canary + ":x?token=x@h/", "https://redacted"},
		{"0?token=" + canary + "@&\b//x", "redacted"},
		{"https://h:port/" + canary + "//y:z@h", "https://redacted@h"},
		{"http:u:" + canary + "@h/", "redacted@h/"},

		{"https://h/?token=" + canary, "https://h/?token=" + shown},
		{"https://h/?a=1&TOKEN=" + canary + "&b=2", "https://h/?a=1&TOKEN=" + shown + "&b=2"},
		{"https://h/?token=" + canary + "&token=" + canary, "https://h/?token=" + shown + "&token=" + shown},
		{"https://h/?token=a%20" + canary, "https://h/?token=" + placeholderInURL(Redacted("a "+canary))},
		{"https://h/?token=%zz" + canary, "https://h/?token=" + placeholderInURL(Redacted("%zz"+canary))},
		{"https://h/?token=a=" + canary, "https://h/?token=" + placeholderInURL(Redacted("a="+canary))},
		{"https://h/?token=a?" + canary, "https://h/?token=" + placeholderInURL(Redacted("a?"+canary))},
		{"https://h/?token=a#" + canary, "https://h/?token=" + placeholderInURL(Redacted("a#"+canary))},
		{"https://h/?token=a;" + canary, "https://h/?token=" + placeholderInURL(Redacted("a;"+canary))},
		{"https://h/?a=1;token=" + canary, "https://h/?a=1;token=" + shown},
		{"https://h/?t%6Fken=" + canary, "https://h/?t%6Fken=" + shown},
		{"https://h/?token[0]=" + canary, "https://h/?token[0]=" + shown},
		{"https://h/?api-key=" + canary, "https://h/?api-key=" + shown},
		{"https://h/?sessionId=" + canary, "https://h/?sessionId=" + shown},
		{"/messages?session_id=" + canary, "/messages?session_id=" + shown},
		{"https://h/?X-Amz-Signature=" + canary, "https://h/?X-Amz-Signature=" + shown},
		{"https://h/p;jsessionid=" + canary, "https://h/p;jsessionid=" + shown},
		{"https://h:bad/?token=" + canary, "https://h:bad/?token=" + shown},
		{"https://h/%zz?token=" + canary, "https://h/%zz?token=" + shown},
		{"?token=" + canary, "?token=" + shown},
		{"https://h/?token=", "https://h/?token="},
		{"https://h/?token", "https://h/?token"},
		{"https://h/?max_tokens=5&monkeys=3&error_code=7", "https://h/?max_tokens=5&monkeys=3&error_code=7"},

		{"https://h/cb#access_token=" + canary + "&state=1", "https://h/cb#access_token=" + shown + "&state=1"},
		{"https://h/#/route?token=" + canary, "https://h/#/route?token=" + shown},
		{"https://h/?a=1#b&code=" + canary, "https://h/?a=1#b&code=" + shown},

		{"/login?next=%2Fcb%3Fcode%3D" + canary, "/login?next=" + url.QueryEscape("/cb?code="+shown)},
		{"/login?next=https%3A%2F%2Fu%3A" + canary + "%40h%2F&a=1", "/login?next=" + url.QueryEscape("https://redacted@h/") + "&a=1"},
	} {
		got := RedactURL(c.raw)
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.raw, got, c.want)
		}
		if again := RedactURL(got); again != got {
			t.Errorf("%s redacted again is %s", got, again)
		}
	}
}

func TestRedactCommand(t *testing.T) {
	hidden := Redacted(canary)
	for _, c := range []struct {
		word, want string
		learnt     bool
	}{
		{"message=password=" + canary + " at alice@example.com /home/alice", "message=password=" + hidden + " at alice@example.com /home/alice", true},
		{`message=see https://u:` + canary + `@h/ or a@b.c`, `message=see https://redacted@h/ or a@b.c`, true},
		{`exec "$0" a:b "$@"`, `exec "$0" a:b "$@"`, false},
		{`{"message":"a@b.c","token":"` + canary + `"}`, `{"message":"a@b.c","token":"` + hidden + `"}`, true},
		{`{"cc":["x","a@b.c"]}`, `{"cc":["x","a@b.c"]}`, false},
		{`list:=["a@b.c"]`, `list:=["a@b.c"]`, false},
		{"message=Note: write to a@b.c", "message=Note: write to a@b.c", false},
		{"alice@example.com", "alice@example.com", false},

		{"https://u:" + canary + "@h/mcp", "https://redacted@h/mcp", true},
		{"url=https://u:" + canary + "@h/mcp", "url=https://redacted@h/mcp", true},
		{"https://u:a " + canary + "@h/mcp", "https://redacted@h/mcp", false},
		{"https://" + canary + "@h:bad port/", "https://redacted@h:bad port/", false},
		{"//u " + canary + ":x@h", "//redacted@h", false},
		{"user:" + canary + "@host", "redacted@host", false},
		{"user:a " + canary + "@host", "redacted@host", false},
		{"--proxy=user:" + canary + "@host", "redacted@host", false},
		{"-uuser:{" + canary + "@host", "redacted@host", false},
		{"h/?a=1&token=" + canary, "h/?a=1&token=" + placeholderInURL(hidden), true},
		{"--api-key=" + canary + " x", "--api-key=" + Redacted(canary+" x"), false},
	} {
		got := RedactCommand([]string{c.word})
		if got[0] != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.word, got[0], c.want)
		}
		if again := RedactCommand(got); again[0] != got[0] {
			t.Errorf("%s redacted again is %s", got[0], again[0])
		}
		s := new(Secrets)
		s.LearnCommand([]string{c.word})
		if after := s.Text("x " + canary + " y"); c.learnt && strings.Contains(after, canary) {
			t.Errorf("%s: the secret is not learnt", c.word)
		}
	}
}

func TestShownCommandHidesHeaderFields(t *testing.T) {
	words := []string{
		"serve", "-H", "X-Session: " + canary, "--header=X-Tenant:" + canary, "--header", "Authorization: Bearer " + canary,
		"--header", "Authorization: Bearer ${TOKEN}", "--header", "X-Note: $NOTE", "--header", "X-Mixed: $NOTE " + canary,
		"--header", "user-agent: " + canary, "X-Free: word", "-H",
	}
	hidden := Redacted(canary)
	want := []string{
		"serve", "-H", "X-Session: " + hidden, "--header=X-Tenant:" + hidden, "--header", "Authorization: Bearer " + hidden,
		"--header", "Authorization: Bearer ${TOKEN}", "--header", "X-Note: $NOTE", "--header", "X-Mixed: " + Redacted("$NOTE "+canary),
		"--header", "user-agent: " + canary, "X-Free: word", "-H",
	}
	got := ShownCommand(words)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if again := ShownCommand(got); !slices.Equal(again, got) {
		t.Errorf("shown again: %q", again)
	}
}

// A server cannot pass a secret off as an already hidden secret.
func TestForgedPlaceholdersAreHidden(t *testing.T) {
	shape := Redacted("x")
	for _, secret := range []string{
		shape + canary, canary + shape, strings.Replace(shape, "1", canary, 1),
		shape[:len(shape)-1] + canary + ")", shape + "\n" + canary,
	} {
		if got := RedactField(wire.Field{Name: "Mcp-Session-Id", Value: secret}).Value; strings.Contains(got, canary) {
			t.Errorf("%q survives as %q", secret, got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("token", "", "", "https://h/?", "", uint8(0))
	f.Add("t%6fken", "a;b#c?", "%zz", "https://u@h/x?y=1&", "&z=1", uint8(0))
	f.Add("", "Bearer ", " more", "", "", uint8(1))
	f.Add("", "p/?#", "@", "https://", "h:1/mcp", uint8(2))
	f.Add("", "=", " --a", "npx", "--header", uint8(3))
	f.Fuzz(func(t *testing.T, name, before, behind, head, tail string, where uint8) {
		if strings.Contains(name+before+behind+head+tail, canary[1:4]) {
			return
		}
		secret := before + canary + behind
		var got string
		switch where % 4 {
		case 0: // a parameter whose value reaches as far as the next &
			if plain, _ := url.QueryUnescape(name); !isSecretName(plain) || strings.ContainsAny(name, "?&;#=") {
				name = "access_token"
			}
			secret = strings.ReplaceAll(secret, "&", "")
			raw := head + "?" + name + "=" + secret + "&" + tail
			got = RedactURL(raw)
			if again := RedactURL(got); strings.Contains(again, canary) {
				t.Errorf("%q comes back as %q", got, again)
			}
		case 1: // a field, in any case and with any scheme
			fields := []string{"Authorization", "proxy-authorization", "COOKIE", "Set-Cookie", "Mcp-Session-Id", "X-Api-Key", "my-token"}
			field := RedactField(wire.Field{Name: fields[len(name)%len(fields)], Value: secret})
			got = field.Value
			if again := RedactField(field); again != field {
				t.Errorf("%q redacted again is %q", field, again)
			}
		case 2: // user information, if it is allowed there
			secret = strings.NewReplacer("/", "", "?", "", "#", "", "\\", "").Replace(secret)
			got = RedactURL("https://" + secret + "@host/" + tail)
		case 3: // a flag of a command, and its value in the same word or in the next
			argv := []string{"serve", "--api-key=" + secret, head, "--token", "x" + secret, tail}
			got = strings.Join(RedactCommand(argv), "\n")
		}
		if strings.Contains(got, canary) {
			t.Errorf("%d: the canary in %q survives in %q", where%4, secret, got)
		}
	})
}

func TestHiddenInFindsPlaceholders(t *testing.T) {
	secret := Redacted("0123456789abcdef")
	for _, text := range []string{"Bearer " + secret, "http://x/?key=" + url.QueryEscape(secret) + "&a=1", secret + secret, "http://x/?sid=" + placeholderInURL(secret) + "&a=" + placeholderInURL(secret)} {
		for _, place := range HiddenIn(text) {
			got := text[place[0]:place[1]]
			if plain, err := url.QueryUnescape(got); err != nil || plain != secret && got != placeholderInURL(secret) {
				t.Errorf("%q: found %q", text, got)
			}
		}
		if n := len(HiddenIn(text)); n != strings.Count(text, "sha256") {
			t.Errorf("%q: %d found", text, n)
		}
	}
	if n := len(HiddenIn("••••(len 4, sha256:zzzz)")); n != 0 {
		t.Errorf("found %d in what nobody wrote", n)
	}
}
