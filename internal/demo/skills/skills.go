// Package skills adds skills (extension io.modelcontextprotocol/skills, SEP-2640) to a server of the
// Go SDK, which has none: good ones, and some whose entries are wrong.
package skills

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

//go:embed files
var files embed.FS

const (
	scheme  = "skill://"
	broken  = "broken/"
	dynamic = "demo/menu"
	// pageSize makes a list of two pages.
	pageSize = 2
	freshFor = 5 * 60 * 1000
)

// Settings are what the server declares.
func Settings() map[string]any { return map[string]any{"directoryRead": true} }

// Add adds the skills; withBroken adds those whose entries are wrong.
func Add(s *mcp.Server, withBroken bool) {
	t := &table{}
	t.load(withBroken)
	for method, handle := range map[string]func(*params) (*result, error){"skills/list": t.list, "skills/get": t.get, "resources/directory/read": t.directory} {
		if err := mcp.AddReceivingCustomMethod(s, method, func(_ context.Context, _ *mcp.ServerSession, p *params) (*result, error) {
			if p == nil {
				p = &params{}
			}
			r, err := handle(p)
			if err == nil && method != "resources/directory/read" && p.GetMeta()[mcp.MetaKeyProtocolVersion] != nil {
				r.TTL, r.Scope = ptr(freshFor), "public"
			}
			return r, err
		}); err != nil {
			panic(fmt.Sprintf("skills: %v", err))
		}
	}
	s.AddReceivingMiddleware(t.reads)
}

type params struct {
	mcp.ParamsBase
	URI    string `json:"uri"`
	Cursor string `json:"cursor"`
}

type result struct {
	mcp.ResultBase
	ResultType string                  `json:"resultType,omitempty"`
	Contents   []*mcp.ResourceContents `json:"contents,omitempty"`
	Skills     []*entry                `json:"skills,omitzero"`
	Skill      *entry                  `json:"skill,omitempty"`
	Resources  []*mcp.Resource         `json:"resources,omitzero"`
	NextCursor string                  `json:"nextCursor,omitempty"`
	TTL        *int                    `json:"ttlMs,omitempty"`
	Scope      string                  `json:"cacheScope,omitempty"`
}

type entry struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	// Resources are files, or "dynamic".
	Resources any `json:"resources"`
}

type file struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// A table has all files by their URIs.
type table struct {
	content map[string][]byte
	skills  []*entry
}

func (t *table) load(withBroken bool) {
	t.content = map[string][]byte{}
	var uris []string
	err := fs.WalkDir(files, "files", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !withBroken && strings.HasPrefix(name, "files/"+broken) {
			return err
		}
		uri := scheme + strings.TrimPrefix(name, "files/")
		t.content[uri], err = files.ReadFile(name)
		uris = append(uris, uri)
		return err
	})
	if err != nil {
		panic(err)
	}
	for _, uri := range uris {
		if path.Base(uri) == "SKILL.md" {
			t.skills = append(t.skills, t.entry(uri, uris))
		}
	}
}

// entry makes the entry of a skill; that of a broken one is wrong.
func (t *table) entry(uri string, uris []string) *entry {
	front, err := skill.FrontMatter(t.content[uri])
	if err != nil {
		panic(uri + ": " + err.Error())
	}
	root := strings.TrimSuffix(uri, "SKILL.md")
	e := &entry{URI: uri, Frontmatter: front, Resources: "dynamic"}
	if root == scheme+dynamic+"/" {
		return e
	}
	var all []file
	for _, u := range uris {
		if !strings.HasPrefix(u, root) {
			continue
		}
		sum := sha256.Sum256(t.content[u])
		f := file{u, "sha256:" + hex.EncodeToString(sum[:]), len(t.content[u])}
		switch {
		case u == scheme+broken+"wrong-size/SKILL.md":
			f.Size++
		case u == scheme+broken+"wrong-digest/SKILL.md":
			f.Digest = "sha256:" + strings.Repeat("0", 64)
		case u == scheme+broken+"unlisted/NOTES.md":
			continue
		}
		all = append(all, f)
	}
	if uri == scheme+broken+"wrong-front/SKILL.md" {
		e.Frontmatter = json.RawMessage(`{"name":"wrong-front","description":"A skill whose entry does not say the truth, to try a client on."}`)
	}
	e.Resources = all
	return e
}

func invalid(text, uri string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text + " " + strconv.Quote(uri)}
}

func (t *table) list(p *params) (*result, error) {
	from := 0
	if p.Cursor != "" {
		var err error
		if from, err = strconv.Atoi(p.Cursor); err != nil || from < 0 || from > len(t.skills) {
			return nil, invalid("unknown cursor", p.Cursor)
		}
	}
	to := min(from+pageSize, len(t.skills))
	r := &result{ResultType: "complete", Skills: t.skills[from:to]}
	if to < len(t.skills) {
		r.NextCursor = strconv.Itoa(to)
	}
	return r, nil
}

func (t *table) get(p *params) (*result, error) {
	i := slices.IndexFunc(t.skills, func(e *entry) bool { return e.URI == p.URI })
	if i < 0 {
		return nil, invalid("unknown skill", p.URI)
	}
	return &result{ResultType: "complete", Skill: t.skills[i]}, nil
}

// directory lists the children of a folder.
func (t *table) directory(p *params) (*result, error) {
	seen := map[string]*mcp.Resource{}
	for uri := range t.content {
		rest, below := strings.CutPrefix(uri, p.URI+"/")
		if !below || p.URI+"/" == scheme {
			continue
		}
		child, _, deeper := strings.Cut(rest, "/")
		seen[child] = t.resource(p.URI+"/"+child, deeper)
	}
	if len(seen) == 0 {
		return nil, invalid("no such directory", p.URI)
	}
	r := &result{ResultType: "complete", Resources: []*mcp.Resource{}}
	for _, one := range seen {
		r.Resources = append(r.Resources, one)
	}
	slices.SortFunc(r.Resources, func(a, b *mcp.Resource) int { return strings.Compare(a.URI, b.URI) })
	return r, nil
}

func (t *table) resource(uri string, folder bool) *mcp.Resource {
	one := &mcp.Resource{URI: uri, Name: path.Base(uri), MIMEType: typeOf(uri)}
	if folder {
		one.MIMEType = "inode/directory"
	}
	return one
}

func typeOf(uri string) string {
	if strings.HasSuffix(uri, ".md") {
		return "text/markdown"
	}
	kind, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(uri)), ";")
	if kind == "" {
		return "text/plain"
	}
	return kind
}

// reads answers resources/read of a file of a skill.
func (t *table) reads(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		read, ok := req.(*mcp.ReadResourceRequest)
		if !ok || !strings.HasPrefix(read.Params.URI, scheme) {
			return next(ctx, method, req)
		}
		content, ok := t.content[read.Params.URI]
		if !ok {
			return nil, mcp.ResourceNotFoundError(read.Params.URI)
		}
		r := &result{Contents: []*mcp.ResourceContents{{URI: read.Params.URI, MIMEType: typeOf(read.Params.URI), Text: string(content)}}}
		if read.Params.GetMeta()[mcp.MetaKeyProtocolVersion] != nil {
			r.ResultType, r.TTL, r.Scope = "complete", ptr(freshFor), "public"
		}
		return r, nil
	}
}

func ptr[T any](v T) *T { return &v }
