package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
	"mcpc/internal/mcp"
	"mcpc/internal/recent"
	"mcpc/internal/skill"
)

const skillsExtension = "io.modelcontextprotocol/skills"

// skillChecks are the checks of the extension of SEP-2640.
var skillChecks = []Check{
	{ID: "skills-declared", Kind: conv.OnResult, Methods: mcp.OpeningMethods, When: func(e *conv.Event) bool {
		return e.Raw("capabilities", "extensions", skillsExtension) != nil
	}, Do: checkSkillsDeclared},
	{
		ID:      "skills-entry",
		Kind:    conv.OnResult,
		Methods: []string{"skills/list", "skills/get"},
		Do:      func(e *conv.Event) { forEachSkill(e, checkSkillEntry) },
	},
	{
		ID:      "skills-limits",
		Kind:    conv.OnResult,
		Methods: []string{"skills/list", "skills/get"},
		Do:      func(e *conv.Event) { forEachSkill(e, checkSkillSize) },
	},
	{
		Kind:    conv.OnResult,
		Methods: []string{"skills/list", "skills/get"},
		Do:      func(e *conv.Event) { forEachSkill(e, recordSkillFiles) },
	},
	{
		ID:   "skills-content",
		Kind: conv.OnContents,
		When: func(e *conv.Event) bool { return e.Method == "resources/read" && findSkillFile(e) != nil },
		Do:   checkFileContent,
	},
}

func checkSkillsDeclared(e *conv.Event) {
	settings, _ := jsonraw.Object(e.Raw("capabilities", "extensions", skillsExtension))
	at := jsonraw.Pointer("/capabilities/extensions", skillsExtension)
	for _, m := range settings {
		if m.Name != "directoryRead" || conv.TypeOf(m.Value) != "boolean" {
			e.Find(jsonraw.Pointer(at, m.Name), m.Name+": "+e.Show(m.Value), "{} or {\"directoryRead\":true}")
		}
	}
	if e.Raw("capabilities", "resources") == nil {
		e.Find("/capabilities/resources", "missing", "the capability resources, with which files of skills are read")
	}
}

// A listedSkill is an entry of skills/list, or the entry of skills/get; pointer is its JSON pointer.
type listedSkill struct {
	jsonraw.Members
	pointer, uri, name string
	files              []json.RawMessage
}

// forEachSkill calls do for each entry of the result.
func forEachSkill(e *conv.Event, do func(*conv.Event, listedSkill)) {
	items := []json.RawMessage{e.Raw("skill")}
	at := "/skill"
	if e.Method == "skills/list" {
		items, _ = e.Message.ResultItems("skills")
		at = ""
	}
	for i, item := range items[:min(len(items), maxNames)] {
		s := listedSkill{pointer: at}
		if at == "" {
			s.pointer = "/skills/" + strconv.Itoa(i)
		}
		s.Members, _ = jsonraw.Object(item)
		s.uri = s.Text("uri")
		s.name = conv.TextInside(s.Value("frontmatter"), "name")
		s.files, _ = jsonraw.Array(s.Value("resources"))
		do(e, s)
	}
}

func (s listedSkill) find(e *conv.Event, pointer, got, want string) {
	e.Hit(conv.Hit{Subject: "skill " + s.uri, Item: s.pointer, Pointer: pointer, Got: got, Want: want})
}

// skillName matches names of Agent Skills, and also names with two hyphens in a row, which are
// invalid.
var skillName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`) },
)

var digest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })

// checkSkillEntry reports the first fault of an entry.
func checkSkillEntry(e *conv.Event, s listedSkill) {
	root, isFile := strings.CutSuffix(s.uri, "/SKILL.md")
	last := root[strings.LastIndexByte(root, '/')+1:]
	front := s.Value("frontmatter")
	switch {
	case !isFile || !isURI(s.uri):
		s.find(e, "/uri", e.Show(s.Value("uri")), "the URI of its SKILL.md")
	case !skillName().MatchString(s.name) || strings.Contains(s.name, "--"):
		s.find(e, "/frontmatter/name", e.Show(conv.Inside(front, "name")), "1 to 64 of a-z 0-9 and single hyphens")
	case conv.TextInside(front, "description") == "":
		s.find(e, "/frontmatter/description", e.Show(conv.Inside(front, "description")), "a text")
	case last != s.name:
		s.find(e, "/uri", "the segment "+last, "the name "+s.name)
	case !conv.IsArray(s.Value("resources")) && s.Text("resources") != "dynamic":
		s.find(e, "/resources", e.Show(s.Value("resources")), `an array, or "dynamic"`)
	case conv.IsArray(s.Value("resources")):
		checkSkillFiles(e, s, root)
	}
}

// checkSkillFiles checks the list of files in an entry; root is the URI of the skill's folder.
func checkSkillFiles(e *conv.Event, s listedSkill, root string) {
	seen := map[string]bool{}
	for i, f := range s.files {
		uri := conv.TextInside(f, "uri")
		at := "/resources/" + strconv.Itoa(i)
		size := conv.Inside(f, "size")
		switch {
		case !strings.HasPrefix(uri, root+"/"):
			s.find(e, at+"/uri", e.Show(conv.Inside(f, "uri")), "a file below "+root)
		case seen[uri]:
			s.find(e, at+"/uri", uri+" again", "each file once")
		case !digest().MatchString(conv.TextInside(f, "digest")):
			s.find(e, at+"/digest", e.Show(conv.Inside(f, "digest")), "sha256: and 64 digits of 0-9 a-f")
		case conv.TypeOf(size) != "integer" || size[0] == '-':
			s.find(e, at+"/size", e.Show(size), "the number of bytes")
		}
		seen[uri] = true
	}
	if !seen[s.uri] {
		s.find(e, "/resources", "no "+s.uri, "all files, SKILL.md among them")
	}
}

const (
	maxFiles      = 512
	maxSkillBytes = 16 << 20
)

func checkSkillSize(e *conv.Event, s listedSkill) {
	total := int64(0)
	for _, f := range s.files {
		size, _ := strconv.ParseInt(string(conv.Inside(f, "size")), 10, 64)
		total += min(max(size, 0), maxSkillBytes)
	}
	if len(s.files) > maxFiles || total > maxSkillBytes {
		s.find(e, "/resources", strconv.Itoa(len(s.files))+" files of "+strconv.FormatInt(total, 10)+" bytes",
			"at most 512 files and 16 MiB")
	}
}

// A skillFile is an entry's description of a file: its digest, its size or -1, and for SKILL.md the
// front matter.
type skillFile struct {
	digest      string
	size        int64
	frontMatter json.RawMessage
}

// recordSkillFiles records the files of an entry for checkFileContent.
func recordSkillFiles(e *conv.Event, s listedSkill) {
	files := conv.State[recent.Map[string, skillFile]](e.Conversation, "files of skills")
	for _, f := range s.files {
		known := skillFile{digest: conv.TextInside(f, "digest"), size: -1}
		if n, err := strconv.ParseInt(string(conv.Inside(f, "size")), 10, 64); err == nil {
			known.size = n
		}
		uri := conv.TextInside(f, "uri")
		if uri == s.uri {
			known.frontMatter = bytes.Clone(s.Value("frontmatter"))
		}
		files.Put(uri, known)
	}
}

// findSkillFile returns an entry's description of the file that was read, or nil.
func findSkillFile(e *conv.Event) *skillFile {
	files := conv.State[recent.Map[string, skillFile]](e.Conversation, "files of skills")
	if f, ok := files.Lookup(e.Text("uri")); ok {
		return &f
	}
	return nil
}

// checkFileContent compares a file that was read with its entry, unless the recording lacks a
// secret of it.
func checkFileContent(e *conv.Event) {
	f := findSkillFile(e)
	data := []byte(e.Text("text"))
	if e.Raw("blob") != nil {
		data, _ = base64.StdEncoding.DecodeString(e.Text("blob"))
	}
	if e.Frame.Hidden > 0 {
		return
	}
	sum := sha256.Sum256(data)
	hit := func(got, want string) {
		e.Hit(conv.Hit{Subject: "file " + e.Text("uri"), Got: got, Want: want})
	}
	digest := "sha256:" + hex.EncodeToString(sum[:])
	switch {
	case f.size >= 0 && f.size != int64(len(data)):
		hit(strconv.Itoa(len(data))+" bytes", strconv.FormatInt(f.size, 10)+" bytes, as the entry says")
	case f.digest != "" && f.digest != digest:
		hit(digest, f.digest+", as the entry says")
	case f.frontMatter != nil:
		if got, want, same := skill.CompareFront(data, f.frontMatter); !same {
			hit("front matter "+got, want)
		}
	}
}

// appChecks are the checks of MCP Apps (SEP-1865).
var appChecks = []Check{
	{ID: "apps-link", Kind: conv.OnTool, When: func(e *conv.Event) bool {
		return e.Raw("_meta", "ui") != nil || e.Raw("_meta", "ui/resourceUri") != nil
	}, Do: func(e *conv.Event) {
		uri := e.Raw("_meta", "ui", "resourceUri")
		if uri == nil && e.Raw("_meta", "ui/resourceUri") != nil {
			e.FindAs(conv.Info, "/_meta/ui~1resourceUri", "ui/resourceUri", "_meta.ui.resourceUri")
		} else if uri != nil && !strings.HasPrefix(e.Text("_meta", "ui", "resourceUri"), "ui://") {
			e.Find("/_meta/ui/resourceUri", e.Show(uri), "a URI that begins with ui://")
		}
	}},
	{
		ID:   "apps-page",
		Kind: conv.OnContents,
		When: func(e *conv.Event) bool { return strings.HasPrefix(e.Text("uri"), "ui://") },
		Do: func(e *conv.Event) {
			if got := strings.ReplaceAll(strings.ToLower(e.Text("mimeType")), " ", ""); got != "text/html;profile=mcp-app" {
				e.Hit(conv.Hit{
					Subject: "page " + e.Text("uri"), Pointer: "/mimeType", Got: e.Got("mimeType"),
					Want: "text/html;profile=mcp-app",
				})
			}
		},
	},
	{ID: "apps-wire", Kind: conv.OnMessage, Do: func(e *conv.Event) {
		if m := e.Message.Method; strings.HasPrefix(m, "ui/") {
			e.Hit(conv.Hit{Root: true, Subject: m, Pointer: "/method", Got: m, Want: "no message between a page and its host"})
		}
	}},
}
