package mcp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

// PageType is the media type of a page of MCP Apps (extension io.modelcontextprotocol/ui,
// 2026-01-26).
const PageType = "text/html;profile=mcp-app"

// AppsExtension is the id of the extension MCP Apps, and AppsSettings the settings that a client with a
// browser declares for it.
const (
	AppsExtension = "io.modelcontextprotocol/ui"
	AppsSettings  = `{"mimeTypes":["` + PageType + `"]}`
)

// MaxPage limits the bytes of a page that is rendered.
const MaxPage = 10 << 20

// An App is what a tool and its UI resource declare about a page of MCP Apps.
type App struct {
	Tool string `json:"tool"`
	URI  string `json:"resourceUri"`
	// Visibility lists where the tool is offered: "model", "app" (the page), or both.
	Visibility []string `json:"visibility"`
	// DeprecatedKey is set if the tool names the page only by _meta["ui/resourceUri"].
	DeprecatedKey bool `json:"deprecatedKey"`
	// Page is nil if the resource could not be read.
	Page *AppPage `json:"page"`
	// Problems are violations of the extension.
	Problems []string `json:"problems"`
}

// An AppPage is the result of resources/read for a page.
type AppPage struct {
	MIMEType string `json:"mimeType"`
	Bytes    int    `json:"bytes"`
	SHA256   string `json:"sha256"`
	// Declared is the JSON of _meta.ui; nil if it is missing.
	Declared json.RawMessage `json:"declared"`
	// Policy is the Content-Security-Policy that a host enforces, with the defaults.
	Policy string `json:"policy"`
	// Origins are the origins outside of the page that Policy allows.
	Origins     []string `json:"origins"`
	Permissions []string `json:"permissions"`
	// HTML is the document.
	HTML string `json:"-"`
}

// Unrenderable returns the reason why a host must not render the page, or "".
func (a App) Unrenderable() string {
	if !strings.HasPrefix(a.URI, "ui://") {
		return "the URI of its page does not begin with ui://"
	}
	if a.Page == nil || a.Page.HTML == "" {
		return "its page " + a.URI + " has no content"
	}
	if !isPageType(a.Page.MIMEType) {
		return fmt.Sprintf("its page has the type %q and not %s", a.Page.MIMEType, PageType)
	}
	if len(a.Page.HTML) > MaxPage {
		return fmt.Sprintf("its page has %d bytes, and at most %d are rendered", len(a.Page.HTML), MaxPage)
	}
	return ""
}

// isPageType reports whether a media type is the one of pages, which may be written with spaces and
// in upper case.
func isPageType(text string) bool {
	return strings.EqualFold(strings.ReplaceAll(text, " ", ""), PageType)
}

// ForApps reports whether the page of a server may call a tool with this _meta. A tool without a
// visibility is for the model and for the page.
func ForApps(meta json.RawMessage) bool {
	visibility := jsonraw.First(jsonraw.First(meta, "ui"), "visibility")
	return visibility == nil || slices.Contains(stringsIn(visibility), "app")
}

// AppOf returns the App of a tool. contents is the result of resources/read for its page, nil if
// the page could not be read.
func AppOf(t Tool, contents []json.RawMessage) App {
	a := App{Tool: t.Name, URI: t.UI, Visibility: []string{"model", "app"}, Problems: []string{}}
	ui := jsonraw.First(t.Meta, "ui")
	a.DeprecatedKey = jsonraw.First(ui, "resourceUri") == nil
	if visibility := stringsIn(jsonraw.First(ui, "visibility")); len(visibility) > 0 {
		a.Visibility = visibility
	}
	if !strings.HasPrefix(t.UI, "ui://") {
		a.Problems = append(a.Problems, "the URI does not begin with ui://")
	}
	if contents == nil {
		a.Problems = append(a.Problems, "the resource could not be read")
		return a
	}
	a.Page = &AppPage{Origins: []string{}, Permissions: []string{}}
	if len(contents) != 1 {
		a.Problems = append(a.Problems, "resources/read did not return exactly one content")
	}
	if len(contents) > 0 {
		a.Problems = append(a.Problems, a.Page.parse(contents[0])...)
	}
	return a
}

// parse reads the content of a page, and returns violations of the extension.
func (p *AppPage) parse(content json.RawMessage) []string {
	members, _ := jsonraw.Object(content)
	p.MIMEType = members.Text("mimeType")
	var problems []string
	if !isPageType(p.MIMEType) {
		problems = append(problems, "mimeType is not "+PageType)
	}
	html := members.Text("text")
	if blob := members.Text("blob"); blob != "" {
		raw, err := base64.StdEncoding.DecodeString(blob)
		if err != nil {
			problems = append(problems, "blob is not base64")
		}
		html = string(raw)
	}
	start := strings.ToLower(strings.TrimSpace(html[:min(len(html), 1000)]))
	if !strings.HasPrefix(start, "<!doctype html") && !strings.HasPrefix(start, "<html") {
		problems = append(problems, "the content is not an HTML document")
	}
	if !utf8.ValidString(html) {
		problems = append(problems, "the content is not valid UTF-8")
	}
	sum := sha256.Sum256([]byte(html))
	p.HTML = html
	p.Bytes = len(html)
	p.SHA256 = hex.EncodeToString(sum[:])
	p.Declared = jsonraw.First(members.Value("_meta"), "ui")
	permissions, _ := jsonraw.Object(jsonraw.First(p.Declared, "permissions"))
	for _, m := range permissions {
		p.Permissions = append(p.Permissions, m.Name)
	}
	csp := jsonraw.First(p.Declared, "csp")
	for _, name := range []string{"connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"} {
		for _, origin := range stringsIn(jsonraw.First(csp, name)) {
			if !isSource(origin) {
				problems = append(problems, "csp."+name+" has an entry that is not an origin")
			} else if !slices.Contains(p.Origins, origin) {
				p.Origins = append(p.Origins, origin)
			}
		}
	}
	p.Policy = securityPolicy(csp)
	return problems
}

// securityPolicy returns the Content-Security-Policy of a page (SEP-1865, "Content Security Policy
// Enforcement"). A page without csp may open no connection.
func securityPolicy(csp json.RawMessage) string {
	domains := func(name, defaultValue string) string {
		var origins []string
		for _, origin := range stringsIn(jsonraw.First(csp, name)) {
			if isSource(origin) {
				origins = append(origins, origin)
			}
		}
		if origins == nil {
			return defaultValue
		}
		return strings.Join(origins, " ")
	}
	if csp == nil {
		return "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
			"img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
	}
	resources := domains("resourceDomains", "")
	directives := []string{
		"default-src 'none'",
		"script-src 'self' 'unsafe-inline' " + resources,
		"style-src 'self' 'unsafe-inline' " + resources,
		"connect-src 'self' " + domains("connectDomains", ""),
		"img-src 'self' data: " + resources,
		"font-src 'self' " + resources,
		"media-src 'self' data: " + resources,
		"frame-src " + domains("frameDomains", "'none'"),
		"object-src 'none'",
		"base-uri " + domains("baseUriDomains", "'self'"),
	}
	for i := range directives {
		directives[i] = strings.TrimSpace(directives[i])
	}
	return strings.Join(directives, "; ")
}

// isSource reports whether text can be part of a policy without ending its directive.
func isSource(text string) bool {
	isInvalid := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`;,'"`, r) }
	return text != "" && !strings.ContainsFunc(text, isInvalid)
}

// stringsIn returns the strings of a JSON array.
func stringsIn(raw json.RawMessage) []string {
	items, _ := jsonraw.Array(raw)
	var all []string
	for _, item := range items {
		if text, ok := jsonraw.Text(item); ok {
			all = append(all, text)
		}
	}
	return all
}
