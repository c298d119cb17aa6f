package skill

import (
	"encoding/json"
	"errors"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// Front matter is read by the core rules of YAML 1.2: values that YAML 1.1 gave other types are
// texts.
func TestFrontMatter(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"---\na: yes\nb: on\nc: 1:30\nd: 2026-09-13\n---\n", `{"a":"yes","b":"on","c":"1:30","d":"2026-09-13"}`},
		{"---\na: true\nb: null\nc: ~\nd: 1.50\n---\nrest", `{"a":true,"b":null,"c":null,"d":1.50}`},
		{"\ufeff---\r\na: x\r\n---\r\n", `{"a":"x"}`},
		{"---\na: |\n  ---\n  b\n---\n", `{"a":"---\nb\n"}`},
		{"---\na: 014\nb: 0x10\nc: 1_000\nd: +.5\n<<: x\n---\n", `{"a":14,"b":16,"c":"1_000","d":0.5,"<<":"x"}`},
		{"---\na: x\n--- \t\nb: y\n---\n", `{"a":"x"}`},
		{"---\na: x\n---", `{"a":"x"}`},
		// Another program continues to read if a line only begins with three hyphens, or if it
		// regards a character as the end of a line.
		{"---\na: x\n---b: y\nc: z\n---\n", `{"a":"x","---b":"y","c":"z"}`},
		{"---\na: x\n----\n", ""},
		{"---\na: x\rb: y\n---\n", ""},
		{"---\n# x\u2028b: y\n---\n", ""},
		{"---\na: x\u0085b: y\n---\n", ""},
		{"---\n---\n", ""},
		{"---\n- a\n---\n", ""},
		{"# none\n", ""},
		{"---\na: x\n", ""},
		{"---\na: " + strings.Repeat("x", maxFrontMatter) + "\n---\n", ""},
		{"---\na: &a [*a]\n---\n", ""},
	} {
		got, err := FrontMatter([]byte(c.text))
		if string(got) != c.want || (err == nil) == (c.want == "") {
			t.Errorf("%.60q: %s, %v; want %s", c.text, got, err, c.want)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b, differs string
	}{
		{`{"a":1,"b":"x"}`, `{"b":"x","a":1.0}`, ""},
		{`{"a":null}`, `{}`, ""},
		{`{}`, `{"a":[1,{"b":null}]}`, "a"},
		{`{"a":[1,{"b":null}]}`, `{"a":[1,{}]}`, ""},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, "a"},
		{`{"a":"1"}`, `{"a":1}`, "a"},
		{`{"a":"é"}`, `{"a":"\u00e9"}`, ""},
		{`{"a":true}`, `{"a":false}`, "a"},
		{`{"a":{}}`, `{"a":[]}`, "a"},
		{`{"a":1e999}`, `{"a":1}`, "a"},
	} {
		if name, _, _, same := firstDifference(json.RawMessage(c.a), json.RawMessage(c.b)); name != c.differs || same != (c.differs == "") {
			t.Errorf("%s and %s: %q differs", c.a, c.b, name)
		}
	}
}

func entryOf(t *testing.T, uris ...string) Entry {
	t.Helper()
	e := Entry{URI: "skill://x/one/SKILL.md", Root: "skill://x/one", Name: "one"}
	for _, uri := range uris {
		e.Files = append(e.Files, File{URI: uri})
	}
	return e
}

func TestResolve(t *testing.T) {
	e := entryOf(t, "skill://x/one/SKILL.md", "skill://x/one/a/b.md")
	for _, c := range []struct{ name, want string }{
		{"", "skill://x/one/SKILL.md"},
		{"SKILL.md", "skill://x/one/SKILL.md"},
		{"a/b.md", "skill://x/one/a/b.md"},
		{"./a/../a/b.md", "skill://x/one/a/b.md"},
		{"skill://x/one/a/b.md", "skill://x/one/a/b.md"},
		{"b.md", ""},
		{"../one/SKILL.md", ""},
		{"/SKILL.md", ""},
		{"a/../../one/SKILL.md", ""},
		{"skill://x/two/SKILL.md", ""},
		{"file:///etc/passwd", ""},
	} {
		if got, err := e.Resolve(c.name); got != c.want && c.want != "" || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	e.Dynamic, e.Files = true, nil
	if uri, err := e.Resolve("any.md"); uri != "skill://x/one/any.md" || err != nil {
		t.Errorf("of a dynamic skill: %q, %v", uri, err)
	}
	if _, err := e.Resolve("skill://x/one/../two"); err == nil {
		t.Error("a dynamic skill has a file outside of its folder")
	}
}

// Size comes before digest, and digest before front matter.
func TestVerify(t *testing.T) {
	text := []byte("---\nname: one\ndescription: x\n---\n")
	e, err := Parse(json.RawMessage(`{"uri":"skill://x/one/SKILL.md","frontmatter":{"name":"one","description":"y"},"resources":[{"uri":"skill://x/one/SKILL.md","size":1,` +
		`"digest":"sha256:` + strings.Repeat("0", 64) + `"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		change func()
	}{
		{"size", func() {}},
		{"digest", func() { e.Files[0].Size = int64(len(text)) }},
		{"front matter", func() { e.Files[0].Digest = "sha256:8a27c9f5d58e21ba4fa8eb1c3ee21bbd83a9a6e38d2b8e79cb4ce4ccb14e2e31" }},
		{"", func() { e.Front = json.RawMessage(`{"description":"x","name":"one"}`) }},
	} {
		c.change()
		err := e.Verify(e.URI, text)
		m, ok := errors.AsType[*Mismatch](err)
		if c.what == "front matter" && ok && m.What == "digest" {
			e.Files[0].Digest = m.Got // the digest of the text
			m, _ = errors.AsType[*Mismatch](e.Verify(e.URI, text))
		}
		if (c.what == "") != (err == nil) || c.what != "" && m.What != c.what {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if err := e.Verify("skill://x/one/other.md", nil); err == nil {
		t.Error("a file that is not listed is verified")
	}
}

// A path that is stored stays below its folder, on any system.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"a/b.md", "../x", "a/../../x", "/x", `a\b`, "C:x", "con", "a\x00", "..", ".", "", "a//b", "%2e%2e/x", "a/", "\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		e := entryOf(t)
		p, err := e.Path(e.Root + "/" + name)
		if err != nil {
			return
		}
		if p != name || path.Clean(p) != p || !filepath.IsLocal(p) || strings.ContainsAny(p, "\\:%\x00") {
			t.Errorf("%q is stored at %q", name, p)
		}
	})
}

func TestPrint(t *testing.T) {
	file := func(uri, digest string) File { return File{URI: uri, Digest: digest} }
	a := Entry{Files: []File{file("b", "1"), file("a", "2")}}
	b := Entry{Files: []File{file("a", "2"), file("b", "3"), file("c", "4")}}
	if got := string(a.Print()); got != `{"a":"2","b":"1"}` {
		t.Errorf("print %s", got)
	}
	if got := strings.Join(Changed(a.Print(), b.Print()), "; "); got != "changed: b; added: c" {
		t.Errorf("changes %s", got)
	}
	if got := strings.Join(Changed(b.Print(), a.Print()), "; "); got != "changed: b; removed: c" {
		t.Errorf("changes %s", got)
	}
	dynamic := Entry{Dynamic: true}
	if dynamic.Print() != nil {
		t.Error("a dynamic skill has a print")
	}
}
