package skills_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The host rules of SEP-2640, by number. mcpc has no model: it can show a skill (list, get), read
// it on the user's command (read, verify) and write it where an agent finds it (export), which is
// the activation.
func TestSkillRules(t *testing.T) {
	const root = "skill://x/one"
	for name, test := range map[string]func(t *testing.T, s *skillServer, r skillRun){
		"01 a scheme or a name makes no skill": func(_ *testing.T, s *skillServer, r skillRun) {
			s.content["skill://x/two/SKILL.md"] = skillText
			r.want(6, "unknown", "read", "skill://x/two/SKILL.md")
			r.want(3, "lists no skill", "read", "two")
		},
		"02 a skill that is not listed is loaded by its URI": func(_ *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			s.entries, s.unlisted = nil, s.entries
			r.want(0, "may serve some", "list")
			r.want(0, "# One", "read", root+"/SKILL.md")
			r.want(0, "# One", "read", root)
		},
		"03 an entry without resources is not loaded": func(t *testing.T, s *skillServer, r skillRun) {
			delete(s.oneSkill(root, nil), "resources")
			r.want(8, "neither a list of files", "read", root)
			r.want(0, "is not loaded", "list")
			if n := s.asked("resources/read"); n > 0 {
				t.Errorf("%d files were read", n)
			}
		},
		"04 nothing is read ahead": func(t *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, map[string]string{"a.md": "a", "b.md": "b"})
			r.want(0, "one", "list")
			r.want(0, "a.md", "get", "one")
			if n := s.asked("resources/"); n > 0 {
				t.Errorf("%d files were read before one was wanted", n)
			}
			r.want(12, "were not confirmed", "export", "out")
			if n := s.asked("resources/"); n > 0 {
				t.Errorf("%d files were read before the export was confirmed", n)
			}
			r.want(0, "b", "read", "one", "b.md")
			if n := s.asked("resources/read"); n != 1 {
				t.Errorf("%d files were read for one", n)
			}
		},
		"05 what was confirmed is not asked for again": func(_ *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			r.want(0, "saved", "export", "out", "--yes")
			r.want(0, "saved", "export", "out")
		},
		"06 a resource by another way is plain text": func(_ *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			stdout := r.mcpc(0, "read", root+"/SKILL.md")
			if !strings.Contains(stdout, "# One") {
				r.t.Errorf("mcpc read: %s", stdout)
			}
			r.want(12, "were not confirmed", "export", "out")
		},
		"07 512 files and 16 MiB are loaded": func(_ *testing.T, s *skillServer, r skillRun) {
			files := map[string]string{}
			for i := range 511 {
				files["f"+string(rune('a'+i%26))+strings.Repeat("x", i/26)] = "x"
			}
			files["fa"] = strings.Repeat("y", 16<<20-len(skillText)-510)
			s.oneSkill(root, files)
			r.want(0, "512", "verify")
		},
		"08 a skill belongs to its server's name here": func(t *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil) // serverInfo.name is ../evil
			r.want(0, "saved", "export", "out", "--yes")
			host := strings.NewReplacer("http://", "", ":", "_", "/", "_").Replace(r.url)
			if _, err := os.Stat(filepath.Join(r.home.Dir, "out", host, "x", "one", "SKILL.md")); err != nil {
				t.Error(err)
			}
			if text := strings.Join(r.tree(), "\n"); strings.Contains(text, "evil") {
				t.Errorf("written:\n%s", text)
			}
		},
		"09 equal names are told apart": func(_ *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			s.oneSkill("skill://y/one", nil)
			r.want(0, "2 skills are called one", "list")
			r.want(3, "skill://y/one/SKILL.md", "read", "one")
			r.want(0, "# One", "read", "y/one")
			r.want(0, "saved", "export", "out", "--yes")
			if text := strings.Join(r.tree(), "\n"); strings.Count(text, "SKILL.md") != 2 {
				r.t.Errorf("written:\n%s", text)
			}
		},
		"10 no skill takes another's place": func(t *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			folder := filepath.Join(r.home.Dir, "out", strings.NewReplacer("http://", "", ":", "_", "/", "_").Replace(r.url), "x", "one")
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "SKILL.md"), []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			r.want(12, "a folder that mcpc did not write", "export", "out", "--yes")
			if raw, _ := os.ReadFile(filepath.Join(folder, "SKILL.md")); string(raw) != "mine" {
				t.Errorf("replaced: %s", raw)
			}
		},
		"11 digest and size are checked, each by itself": func(_ *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, map[string]string{"a.md": "aaaa"})
			s.content[root+"/a.md"] = "aaa"
			r.want(10, "the size is 3, and the skill's entry says 4", "read", "one", "a.md")
			s.content[root+"/a.md"] = "aaab"
			r.want(10, "the digest is", "read", "one", "a.md")
			if got := r.run("read", "one", "a.md"); got.Stdout != "" {
				r.t.Errorf("printed: %s", got.Stdout)
			}
		},
		"12 front matter is compared, of a dynamic skill too": func(_ *testing.T, s *skillServer, r skillRun) {
			e := s.oneSkill(root, nil)
			e["resources"] = "dynamic"
			r.want(0, "# One", "read", "one")
			e["frontmatter"] = map[string]any{"name": "one", "description": "Does it.", "allowed-tools": "all"}
			r.want(10, "the front matter is", "read", "one")
		},
		"13 a file that is not listed is not read": func(t *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			s.content[root+"/b.md"] = "b"
			r.want(3, "not among the files", "read", "one", "b.md")
			r.want(3, "not a file of the skill", "read", "one", "skill://x/two/a.md")
			if n := s.asked("resources/read"); n > 0 {
				t.Errorf("%d files were read", n)
			}
		},
		"14 a digest that fits gives no right": func(_ *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			r.want(0, "ok", "verify")
			r.want(12, "were not confirmed", "export", "out")
		},
		"15 folders are listed only where that is declared": func(t *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			r.want(0, "ok", "verify")
			if n := s.asked("resources/directory/read"); n > 0 {
				t.Errorf("%d folders were listed", n)
			}
		},
		"16 a folder adds nothing to the list of files": func(t *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			s.directory = true
			s.folders[root] = []any{map[string]any{"uri": root + "/SKILL.md"}, map[string]any{"uri": root + "/new.md"}}
			r.want(10, "changed, needs approval again", "verify")
			if n := s.asked("resources/read " + root + "/new.md"); n > 0 {
				t.Error("the new file was read")
			}
		},
		"17 the text has no authority, and says so": func(_ *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			r.want(12, "an agent follows what skills say", "export", "out")
			r.want(0, "saved", "export", "out", "--yes")
			if mark := r.mark(); !strings.Contains(mark, "untrusted") {
				r.t.Errorf("the mark: %s", mark)
			}
		},
		"18 it is marked with its server": func(_ *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			r.want(0, "of the skill one of "+r.url, "read", "one")
			r.want(0, "saved", "export", "out", "--yes")
			if mark := r.mark(); !strings.Contains(mark, r.url) || !strings.Contains(mark, root+"/SKILL.md") {
				r.t.Errorf("the mark: %s", mark)
			}
		},
		"19 nothing of a skill is run": func(t *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, map[string]string{"run.sh": "#!/bin/sh\ntouch ran\n"})
			r.want(0, "saved", "export", "out", "--yes")
			for _, name := range r.tree() {
				if info, err := os.Stat(filepath.Join(r.home.Dir, name)); err != nil || filepath.Base(name) == "ran" || info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
		},
		"20 a link to another server is not followed": func(t *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			r.want(3, "not a file of the skill", "read", "one", "https://other.example/a.md")
			if n := s.asked("resources/read"); n > 0 {
				t.Errorf("%d files were read", n)
			}
		},
		"21 allowed-tools allows nothing": func(_ *testing.T, s *skillServer, r skillRun) {
			text := "---\nname: one\ndescription: Does it.\nallowed-tools: all\n---\n"
			e := s.oneSkill(root, nil)
			e["frontmatter"] = map[string]any{"name": "one", "description": "Does it.", "allowed-tools": "all"}
			e["resources"] = []any{skillFile(root+"/SKILL.md", text)}
			s.content[root+"/SKILL.md"] = text
			r.want(12, "were not confirmed", "export", "out")
		},
		"22 a skill inside another is confirmed by itself": func(_ *testing.T, s *skillServer, r skillRun) {
			s.oneSkill("skill://x/one/one", nil)
			s.oneSkill(root, map[string]string{"one/SKILL.md": skillText})
			r.want(12, "with the skill "+root+"/one/SKILL.md in it", "export", "out", root)
			r.want(0, "saved", "export", "out", root, "--yes")
			r.want(12, "were not confirmed", "export", "out2", "skill://x/one/one")
			r.want(0, "\tno\t"+root+"/one/SKILL.md", "list")
			s.entries = s.entries[:1]
			s.oneSkill(root, nil) // which does not list the one in its folder
			r.want(0, "does not list it", "export", "out", "--yes")
		},
		"23 a changed file revokes what was confirmed": func(_ *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, map[string]string{"a.md": "a", "b.md": "b"})
			r.want(0, "saved", "export", "out", "--yes")
			r.want(0, "\tyes\t", "list")
			s.entries = nil
			s.oneSkill(root, map[string]string{"a.md": "A", "c.md": "c"})
			r.want(0, "no longer: 3 files changed", "list")
			for _, text := range []string{"changed: " + root + "/a.md", "added: " + root + "/c.md", "removed: " + root + "/b.md"} {
				r.want(12, text, "export", "out")
			}
			r.want(0, "saved", "export", "out", "--yes")
			r.want(0, "\tyes\t", "list")
			s.entries[0].(map[string]any)["resources"] = "dynamic"
			r.want(12, "were not confirmed", "export", "out")
		},
		"24 the skill can be read before it is confirmed": func(_ *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			r.want(12, "skills read NAME", "export", "out")
			r.want(0, "# One", "read", "one")
		},
		"25 what is written is not believed later": func(t *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			r.want(0, "saved", "export", "out", "--yes")
			s.content[root+"/SKILL.md"] = skillText + "more"
			before := strings.Join(r.tree(), "\n")
			r.want(10, "the size is", "export", "out")
			if after := strings.Join(r.tree(), "\n"); after != before {
				t.Errorf("the tree changed:\n%s\n%s", before, after)
			}
		},
		"26 skills are kept only where the user says": func(t *testing.T, s *skillServer, r skillRun) {
			s.oneSkill(root, nil)
			r.want(0, "# One", "read", "one")
			r.want(0, "ok", "verify")
			if tree := r.tree(); len(tree) > 0 {
				t.Errorf("written: %v", tree)
			}
		},
		"27 unknown metadata is of no account": func(_ *testing.T, s *skillServer, r skillRun) {
			text := "---\nname: one\ndescription: Does it.\nmetadata:\n  io.modelcontextprotocol/x: yes\n---\n"
			e := s.oneSkill(root, nil)
			e["frontmatter"] = map[string]any{"name": "one", "description": "Does it.", "metadata": map[string]any{"io.modelcontextprotocol/x": "yes"}}
			e["resources"] = []any{skillFile(root+"/SKILL.md", text)}
			s.content[root+"/SKILL.md"] = text
			r.want(0, "ok", "verify")
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			s, url := startSkills(t)
			test(t, s, newSkillRun(t, url))
		})
	}
}

// mcpc runs another command of the program at the server.
func (r skillRun) mcpc(code int, words ...string) string {
	r.t.Helper()
	got := r.home.MCPC(append([]string{"-s", r.url}, words...)...)
	if got.Code != code {
		r.t.Errorf("mcpc %q: exit code %d", words, got.Code)
	}
	return got.Stdout
}

var markFile = regexp.MustCompile(`\.mcpc-origin\.json$`)

// mark is the content of the only mark below the directory.
func (r skillRun) mark() string {
	r.t.Helper()
	for _, name := range r.tree() {
		if markFile.MatchString(name) {
			raw, err := os.ReadFile(filepath.Join(r.home.Dir, name))
			if err != nil {
				r.t.Error(err)
			}
			return string(raw)
		}
	}
	r.t.Error("no mark was written")
	return ""
}
