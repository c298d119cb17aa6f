package demo

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"mime"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpc/internal/skill"
)

//go:embed skillfiles
var skillFiles embed.FS

const (
	skillScheme  = "skill://"
	brokenSkills = "broken/"
	dynamicSkill = "demo/menu"
	// skillPageSize makes a list of two pages.
	skillPageSize     = 2
	skillsCacheMillis = 5 * 60 * 1000
)

// addSkills adds the skills (extension io.modelcontextprotocol/skills, SEP-2640), which the Go SDK
// lacks. withBroken adds the skills with invalid entries.
func addSkills(s *mcp.Server, withBroken bool) {
	t := &skillTable{}
	t.load(withBroken)
	methods := map[string]func(*skillParams) (*skillResult, error){
		"skills/list":              t.list,
		"skills/get":               t.get,
		"resources/directory/read": t.listDirectory,
	}
	for method, handle := range methods {
		serve := func(_ context.Context, _ *mcp.ServerSession, p *skillParams) (*skillResult, error) {
			if p == nil {
				p = &skillParams{}
			}
			r, err := handle(p)
			if err == nil && method != "resources/directory/read" && p.GetMeta()[mcp.MetaKeyProtocolVersion] != nil {
				r.TTL = new(skillsCacheMillis)
				r.Scope = "public"
			}
			return r, err
		}
		if err := mcp.AddReceivingCustomMethod(s, method, serve); err != nil {
			panic(fmt.Sprintf("skills: %v", err))
		}
	}
	s.AddReceivingMiddleware(t.serveFiles)
}

type skillParams struct {
	mcp.ParamsBase
	URI    string `json:"uri"`
	Cursor string `json:"cursor"`
}

type skillResult struct {
	mcp.ResultBase
	ResultType string                  `json:"resultType,omitempty"`
	Contents   []*mcp.ResourceContents `json:"contents,omitempty"`
	Skills     []*skillEntry           `json:"skills,omitzero"`
	Skill      *skillEntry             `json:"skill,omitempty"`
	Resources  []*mcp.Resource         `json:"resources,omitzero"`
	NextCursor string                  `json:"nextCursor,omitempty"`
	TTL        *int                    `json:"ttlMs,omitempty"`
	Scope      string                  `json:"cacheScope,omitempty"`
}

type skillEntry struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	// Resources is a list of files, or "dynamic".
	Resources any `json:"resources"`
}

type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// A skillTable contains all files by their URIs.
type skillTable struct {
	content map[string][]byte
	skills  []*skillEntry
}

// load reads the embedded files into the table. It panics if a file cannot be read.
func (t *skillTable) load(withBroken bool) {
	t.content = map[string][]byte{}
	var uris []string
	err := fs.WalkDir(skillFiles, "skillfiles", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !withBroken && strings.HasPrefix(name, "skillfiles/"+brokenSkills) {
			return err
		}
		uri := skillScheme + strings.TrimPrefix(name, "skillfiles/")
		t.content[uri], err = skillFiles.ReadFile(name)
		uris = append(uris, uri)
		return err
	})
	if err != nil {
		panic(err)
	}
	for _, uri := range uris {
		if path.Base(uri) == "SKILL.md" {
			t.skills = append(t.skills, t.newEntry(uri, uris))
		}
	}
}

// newEntry returns the entry of a skill. The entry of a broken skill is invalid on purpose.
func (t *skillTable) newEntry(uri string, uris []string) *skillEntry {
	front, err := skill.FrontMatter(t.content[uri])
	if err != nil {
		panic(uri + ": " + err.Error())
	}
	root := strings.TrimSuffix(uri, "SKILL.md")
	e := &skillEntry{URI: uri, Frontmatter: front, Resources: "dynamic"}
	if root == skillScheme+dynamicSkill+"/" {
		return e
	}
	var all []skillFile
	for _, u := range uris {
		if !strings.HasPrefix(u, root) {
			continue
		}
		sum := sha256.Sum256(t.content[u])
		f := skillFile{u, "sha256:" + hex.EncodeToString(sum[:]), len(t.content[u])}
		switch {
		case u == skillScheme+brokenSkills+"wrong-size/SKILL.md":
			f.Size++
		case u == skillScheme+brokenSkills+"wrong-digest/SKILL.md":
			f.Digest = "sha256:" + strings.Repeat("0", 64)
		case u == skillScheme+brokenSkills+"unlisted/NOTES.md":
			continue
		}
		all = append(all, f)
	}
	if uri == skillScheme+brokenSkills+"wrong-front/SKILL.md" {
		e.Frontmatter = json.RawMessage(
			`{"name":"wrong-front","description":"A skill whose entry does not say the truth, to try a client on."}`,
		)
	}
	e.Resources = all
	return e
}

// invalidSkill returns the JSON-RPC error for params that name no skill, directory or page.
func invalidSkill(text, uri string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text + " " + strconv.Quote(uri)}
}

// list handles skills/list. The cursor is the index of the first skill of the page.
func (t *skillTable) list(p *skillParams) (*skillResult, error) {
	start := 0
	if p.Cursor != "" {
		var err error
		start, err = strconv.Atoi(p.Cursor)
		if err != nil || start < 0 || start > len(t.skills) {
			return nil, invalidSkill("unknown cursor", p.Cursor)
		}
	}
	end := min(start+skillPageSize, len(t.skills))
	r := &skillResult{ResultType: "complete", Skills: t.skills[start:end]}
	if end < len(t.skills) {
		r.NextCursor = strconv.Itoa(end)
	}
	return r, nil
}

// get handles skills/get.
func (t *skillTable) get(p *skillParams) (*skillResult, error) {
	i := slices.IndexFunc(t.skills, func(e *skillEntry) bool { return e.URI == p.URI })
	if i < 0 {
		return nil, invalidSkill("unknown skill", p.URI)
	}
	return &skillResult{ResultType: "complete", Skill: t.skills[i]}, nil
}

// listDirectory returns the entries of a folder.
func (t *skillTable) listDirectory(p *skillParams) (*skillResult, error) {
	children := map[string]*mcp.Resource{}
	for uri := range t.content {
		rest, below := strings.CutPrefix(uri, p.URI+"/")
		if !below || p.URI+"/" == skillScheme {
			continue
		}
		child, _, deeper := strings.Cut(rest, "/")
		children[child] = t.newResource(p.URI+"/"+child, deeper)
	}
	if len(children) == 0 {
		return nil, invalidSkill("no such directory", p.URI)
	}
	r := &skillResult{ResultType: "complete", Resources: []*mcp.Resource{}}
	for _, resource := range children {
		r.Resources = append(r.Resources, resource)
	}
	slices.SortFunc(r.Resources, func(a, b *mcp.Resource) int { return strings.Compare(a.URI, b.URI) })
	return r, nil
}

func (t *skillTable) newResource(uri string, isFolder bool) *mcp.Resource {
	resource := &mcp.Resource{URI: uri, Name: path.Base(uri), MIMEType: mediaType(uri)}
	if isFolder {
		resource.MIMEType = "inode/directory"
	}
	return resource
}

// mediaType returns the media type for the name of a file.
func mediaType(uri string) string {
	if strings.HasSuffix(uri, ".md") {
		return "text/markdown"
	}
	kind, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(uri)), ";")
	if kind == "" {
		return "text/plain"
	}
	return kind
}

// serveFiles returns a handler for resources/read that serves the files of skills.
func (t *skillTable) serveFiles(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		read, ok := req.(*mcp.ReadResourceRequest)
		if !ok || !strings.HasPrefix(read.Params.URI, skillScheme) {
			return next(ctx, method, req)
		}
		content, ok := t.content[read.Params.URI]
		if !ok {
			return nil, mcp.ResourceNotFoundError(read.Params.URI)
		}
		r := &skillResult{
			Contents: []*mcp.ResourceContents{
				{URI: read.Params.URI, MIMEType: mediaType(read.Params.URI), Text: string(content)},
			},
		}
		if read.Params.GetMeta()[mcp.MetaKeyProtocolVersion] != nil {
			r.ResultType = "complete"
			r.TTL = new(skillsCacheMillis)
			r.Scope = "public"
		}
		return r, nil
	}
}
