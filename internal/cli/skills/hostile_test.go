package skills_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpc/internal/tests/clitest"
)

// A skillServer serves skills in 2026-07-28 as the test wants them.
type skillServer struct {
	mu sync.Mutex
	// entries are listed, unlisted ones only answered by skills/get.
	entries, unlisted []any
	content           map[string]any // by URI: a text, or bytes
	folders           map[string][]any
	directory         bool
	methods           []string // with the uri, if there is one
	endless           bool     // the list of skills
	endlessFolders    bool
	// none is set if the server has no skills.
	none bool
}

func skillFile(uri, text string) map[string]any {
	sum := sha256.Sum256([]byte(text))
	return map[string]any{"uri": uri, "digest": "sha256:" + hex.EncodeToString(sum[:]), "size": len(text)}
}

const skillText = "---\nname: one\ndescription: Does it.\n---\n# One\n"

// oneSkill is a skill called one, with a SKILL.md and these files beside it.
func (s *skillServer) oneSkill(root string, files map[string]string) map[string]any {
	uri := root + "/SKILL.md"
	s.content[uri] = skillText
	list := []any{skillFile(uri, skillText)}
	for name, text := range files {
		s.content[root+"/"+name] = text
		list = append(list, skillFile(root+"/"+name, text))
	}
	e := map[string]any{"uri": uri, "frontmatter": map[string]any{"name": "one", "description": "Does it."}, "resources": list}
	s.entries = append(s.entries, e)
	return e
}

// replaceMain is oneSkill with another SKILL.md, whose size and digest are right.
func (s *skillServer) replaceMain(root, text string) {
	s.oneSkill(root, nil)["resources"] = []any{skillFile(root+"/SKILL.md", text)}
	s.content[root+"/SKILL.md"] = text
}

// endlessText is the content of a file that does not end.
type endlessText struct{}

func (endlessText) writeTo(w http.ResponseWriter, id json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"contents":[{"uri":"a","text":"`, id)
	for piece := bytes.Repeat([]byte("x"), 1<<20); err == nil; {
		_, err = w.Write(piece)
	}
}

func startSkills(t *testing.T) (*skillServer, string) {
	t.Helper()
	s := &skillServer{content: map[string]any{}, folders: map[string][]any{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL + "/mcp"
}

func (s *skillServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ URI, Cursor string }
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.methods = append(s.methods, strings.TrimSpace(m.Method+" "+m.Params.URI))
	result, missing := map[string]any{"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}, false
	if s.none && m.Method != "server/discover" {
		m.Method = ""
	}
	switch m.Method {
	case "server/discover":
		settings := map[string]any{}
		if s.directory {
			settings["directoryRead"] = true
		}
		result["supportedVersions"] = []string{"2026-07-28"}
		result["capabilities"] = map[string]any{"resources": map[string]any{}, "extensions": map[string]any{"io.modelcontextprotocol/skills": settings}}
		if s.none {
			result["capabilities"] = map[string]any{}
		}
		result["_meta"] = map[string]any{"io.modelcontextprotocol/serverInfo": map[string]any{"name": "../evil", "version": "1"}}
	case "skills/list":
		result["skills"] = append([]any{}, s.entries...)
		if s.endless {
			result["nextCursor"] = m.Params.Cursor + "x"
		}
	case "skills/get":
		missing = true
		for _, e := range append(slices.Clone(s.entries), s.unlisted...) {
			if e, ok := e.(map[string]any); ok && e["uri"] == m.Params.URI {
				result["skill"], missing = e, false
			}
		}
	case "resources/read":
		one := map[string]any{"uri": m.Params.URI, "mimeType": "text/markdown"}
		all := []any{one}
		switch content := s.content[m.Params.URI].(type) {
		case string:
			one["text"] = content
		case []byte:
			one["blob"] = base64.StdEncoding.EncodeToString(content)
		case []string:
			all = nil
			for _, text := range content {
				all = append(all, map[string]any{"uri": m.Params.URI, "text": text})
			}
		case endlessText:
			s.mu.Unlock()
			defer s.mu.Lock()
			content.writeTo(w, m.ID)
			return
		default:
			missing = true
		}
		result["contents"] = all
	case "resources/directory/read":
		children, ok := s.folders[m.Params.URI]
		result["resources"], missing = append([]any{}, children...), !ok
		if s.endlessFolders {
			result["nextCursor"] = m.Params.Cursor + "x"
		}
	default:
		missing = true
	}
	w.Header().Set("Content-Type", "application/json")
	code := -32602
	if m.Method == "" {
		code = -32601
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}
	if missing {
		answer = map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": code, "message": "unknown"}}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// asked counts the requests that begin so.
func (s *skillServer) asked(begin string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.methods {
		if strings.HasPrefix(m, begin) {
			n++
		}
	}
	return n
}

// A skillRun runs mcpc skills in a directory with a separate state.
type skillRun struct {
	t    *testing.T
	home *clitest.Home
	url  string
}

// newSkillRun makes the directory the working directory of the process until the test ends.
func newSkillRun(t *testing.T, url string) skillRun {
	t.Helper()
	return skillRun{t, clitest.EnterHome(t), url}
}

// run runs a subcommand of mcpc skills.
func (r skillRun) run(words ...string) clitest.Output {
	return r.home.MCPC(append([]string{"-s", r.url, "skills"}, words...)...)
}

// want fails unless the exit code is this, and standard output or standard error has the text.
func (r skillRun) want(code int, text string, words ...string) string {
	r.t.Helper()
	got := r.run(words...)
	if got.Code != code || !strings.Contains(got.Stdout+got.Stderr, text) {
		r.t.Errorf("mcpc skills %q: exit code %d, want %d and %q\n%s%s", words, got.Code, code, text, got.Stdout, got.Stderr)
	}
	return got.Stdout
}

// tree returns all files and folders below the directory, except the state's.
func (r skillRun) tree() (names []string) {
	_ = filepath.WalkDir(r.home.Dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(r.home.Dir, name)
		if err == nil && rel != "." && rel != "state" && !strings.HasPrefix(rel, "state"+string(filepath.Separator)) {
			names = append(names, rel)
		}
		return nil
	})
	return names
}

func TestServerWithoutSkills(t *testing.T) {
	s, url := startSkills(t)
	s.none = true
	newSkillRun(t, url).want(6, "the server does not declare io.modelcontextprotocol/skills", "list")
}

// A hostile skill writes nothing, runs nothing, and the reason is shown.
func TestHostileSkills(t *testing.T) {
	const root = "skill://x/one"
	many := map[string]string{}
	for i := range 513 {
		many[fmt.Sprintf("f%d.md", i)] = "x"
	}
	file := func(e map[string]any, i int) map[string]any { return e["resources"].([]any)[i].(map[string]any) }
	for _, c := range []struct {
		name  string
		build func(s *skillServer)
		why   string
		code  int
	}{
		{"dots", func(s *skillServer) { s.oneSkill(root, map[string]string{"../../../evil": "x"}) }, "leaves its folder", 12},
		{"dots at once", func(s *skillServer) { s.oneSkill(root, map[string]string{"..": "x"}) }, "leaves its folder", 12},
		{"dots in the folder", func(s *skillServer) { s.oneSkill("skill://../../one", nil) }, "leaves its folder", 12},
		{"absolute", func(s *skillServer) { s.oneSkill(root, map[string]string{"/etc/evil": "x"}) }, "empty part", 12},
		{"absolute folder", func(s *skillServer) { s.oneSkill("skill:///etc/one", nil) }, "empty part", 12},
		{"encoded dots", func(s *skillServer) { s.oneSkill(root, map[string]string{"%2e%2e/evil": "x"}) }, "has a character of", 12},
		{"encoded slash", func(s *skillServer) { s.oneSkill(root, map[string]string{"..%2fevil": "x"}) }, "has a character of", 12},
		{"backslash", func(s *skillServer) { s.oneSkill(root, map[string]string{`..\..\evil`: "x"}) }, "has a character of", 12},
		{"drive", func(s *skillServer) { s.oneSkill(root, map[string]string{"C:/evil": "x"}) }, "has a character of", 12},
		{"stream of a file", func(s *skillServer) { s.oneSkill(root, map[string]string{"a.md:evil": "x"}) }, "has a character of", 12},
		{"device", func(s *skillServer) { s.oneSkill(root, map[string]string{"CON.md": "x"}) }, "is a device", 12},
		{"device in a folder", func(s *skillServer) { s.oneSkill(root, map[string]string{"a/nul/b": "x"}) }, "is a device", 12},
		{"dot at the end", func(s *skillServer) { s.oneSkill(root, map[string]string{"a./b": "x"}) }, "ends in a dot", 12},
		{"hidden file", func(s *skillServer) { s.oneSkill(root, map[string]string{".bashrc": "x"}) }, "begins with a dot", 12},
		{"our own mark", func(s *skillServer) { s.oneSkill(root, map[string]string{".mcpc-origin.json": "{}"}) }, "begins with a dot", 12},
		{"home", func(s *skillServer) { s.oneSkill("skill://~/one", nil) }, "begins with a dot, a tilde", 12},
		{"flag", func(s *skillServer) { s.oneSkill(root, map[string]string{"-rf": "x"}) }, "a tilde or a hyphen", 12},
		{"NUL", func(s *skillServer) { s.oneSkill(root, map[string]string{"a\x00b": "x"}) }, "not in its folder", 8},
		{"escape sequence", func(s *skillServer) { s.oneSkill(root, map[string]string{"\x1b]0;x\a.md": "x"}) }, "not in its folder", 8},
		{"override of direction", func(s *skillServer) { s.oneSkill(root, map[string]string{"a\u202edm.exe": "x"}) }, "not in its folder", 8},
		{"upper and lower case", func(s *skillServer) { s.oneSkill(root, map[string]string{"A.md": "x", "a.md": "y"}) }, "differ only in upper and lower case", 12},
		{"file and folder", func(s *skillServer) { s.oneSkill(root, map[string]string{"a": "x", "a/b": "y"}) }, "the folder of", 12},
		{"too deep", func(s *skillServer) { s.oneSkill(root, map[string]string{strings.Repeat("a/", 40) + "b": "x"}) }, "too long", 12},
		{"long name", func(s *skillServer) { s.oneSkill(root, map[string]string{strings.Repeat("a", 300): "x"}) }, "too long", 12},
		{"file of another skill", func(s *skillServer) { s.oneSkill(root, nil)["resources"] = []any{skillFile("skill://x/two/a.md", "x")} }, "not in its folder", 8},
		{"file of this machine", func(s *skillServer) { s.oneSkill(root, nil)["resources"] = []any{skillFile("file:///etc/passwd", "x")} }, "not in its folder", 8},
		{"a file twice", func(s *skillServer) {
			e := s.oneSkill(root, nil)
			e["resources"] = append(e["resources"].([]any), e["resources"].([]any)[0])
		}, "twice", 8},
		{"no list", func(s *skillServer) { delete(s.oneSkill(root, nil), "resources") }, "neither a list of files", 8},
		{"513 files", func(s *skillServer) { s.oneSkill(root, many) }, "more than 512 files", 8},
		{"17 MiB said", func(s *skillServer) { file(s.oneSkill(root, map[string]string{"a": "x"}), 1)["size"] = 17 << 20 }, "more than 512 files or 16 MiB", 8},
		{"17 MiB sent", func(s *skillServer) {
			s.oneSkill(root, nil)["resources"] = "dynamic"
			s.content[root+"/SKILL.md"] = skillText + strings.Repeat("x", 17<<20)
		}, "more than 16 MiB", 10},
		{"huge size", func(s *skillServer) {
			file(s.oneSkill(root, map[string]string{"a": "x"}), 1)["size"] = json.RawMessage("1e30")
		}, "is not a number of bytes", 8},
		{"negative size", func(s *skillServer) { file(s.oneSkill(root, nil), 0)["size"] = -1 }, "is not a number of bytes", 8},
		{"wrong size", func(s *skillServer) { s.content[s.oneSkill(root, nil)["uri"].(string)] = skillText + "more" }, "the size is", 10},
		{"wrong digest", func(s *skillServer) {
			s.content[s.oneSkill(root, nil)["uri"].(string)] = strings.Replace(skillText, "# One", "# Two", 1)
		}, "the digest is", 10},
		{"wrong front matter", func(s *skillServer) {
			s.oneSkill(root, nil)["frontmatter"] = map[string]any{"name": "one", "description": "Harmless."}
		}, "the front matter is", 10},
		{"aliases in front matter", func(s *skillServer) {
			text := "---\nname: one\ndescription: Does it.\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
				"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n---\n"
			s.oneSkill(root, nil)["resources"] = []any{skillFile(root+"/SKILL.md", text)}
			s.content[root+"/SKILL.md"] = text
		}, "front matter is not readable", 10},
		{"deep front matter", func(s *skillServer) {
			s.replaceMain(root, "---\nname: one\ndescription: Does it.\na: "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+"\n---\n")
		}, "front matter is not readable", 10},
		{"huge number in front matter", func(s *skillServer) {
			s.replaceMain(root, "---\nname: one\ndescription: Does it.\na: 1e999999999\n---\n")
		}, "1e999999999", 10},
		{"front matter that goes on", func(s *skillServer) {
			s.replaceMain(root, "---\nname: one\ndescription: Does it.\n---x: 1\nallowed-tools: all\n---\n")
		}, "the front matter is", 10},
		{"front matter with another line end", func(s *skillServer) {
			s.replaceMain(root, "---\nname: one\ndescription: Does it.\n# x\u2028allowed-tools: all\n---\n")
		}, "treat as a line end", 10},
		{"file that is not there", func(s *skillServer) { delete(s.content, s.oneSkill(root, nil)["uri"].(string)) }, "unknown", 6},
		{"two contents in one", func(s *skillServer) {
			s.content[s.oneSkill(root, nil)["uri"].(string)] = []string{skillText, "more"}
		}, "returned 2 contents", 10},
		{"file without an end", func(s *skillServer) {
			s.content[s.oneSkill(root, nil)["uri"].(string)] = endlessText{}
		}, "limit", 8},
		{"folder without an end", func(s *skillServer) {
			s.oneSkill(root, nil)
			s.directory, s.endless = true, false
			s.folders[root], s.endlessFolders = []any{map[string]any{"uri": "skill://x/two/a.md"}}, true
		}, "does not end", 10},
		{"list without an end", func(s *skillServer) {
			s.oneSkill(root, nil)
			s.endless = true
		}, "same", 8},
		{"new file in the folder", func(s *skillServer) {
			s.oneSkill(root, nil)
			s.directory = true
			s.folders[root] = []any{map[string]any{"uri": root + "/SKILL.md", "name": "SKILL.md"}, map[string]any{"uri": root + "/new.sh", "name": "new.sh"}}
		}, "needs approval again", 12},
		{"folder that leads out", func(s *skillServer) {
			s.oneSkill(root, nil)["resources"] = "dynamic"
			s.directory = true
			s.folders[root] = []any{map[string]any{"uri": root + "/../../evil", "name": "x"}, map[string]any{"uri": root + "/%2e%2e", "name": "y"}}
		}, "has a character of", 12},
		{"name of another", func(s *skillServer) {
			s.oneSkill(root, nil)["frontmatter"] = map[string]any{"name": "two", "description": "x"}
		}, "its name two differs", 8},
		{"name with a path", func(s *skillServer) {
			s.oneSkill("skill://x/..", nil)["frontmatter"] = map[string]any{"name": "..", "description": "x"}
		}, "its name is not", 8},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			s, url := startSkills(t)
			c.build(s)
			r := newSkillRun(t, url)
			r.want(c.code, c.why, "export", "out", "--yes")
			if tree := slices.DeleteFunc(r.tree(), func(name string) bool { return name == "out" }); len(tree) > 0 {
				t.Errorf("written: %v", tree)
			}
		})
	}
}
