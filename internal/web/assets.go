package web

import (
	"embed"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
)

//go:embed page
var pageFiles embed.FS

// assets returns the files of the page.
func assets() fs.FS {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return files
}

// mediaTypes maps the extensions of the page's files to media types.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// forReaders matches what only readers of the sources need: comment lines and indentation. The sources
// have no text of several lines in which either would matter.
var forReaders = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*//.*$|^[ \t]+`)
})

// cssSpaces shortens style sheets, whose strings have none of these characters.
var cssSpaces = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(" { ", "{", " > ", ">", "; }", "}", " }", "}", "} ", "}", "; ", ";", ": ", ":", ", ", ",")
})

// asset returns the media type and the contents of a file of the page, or nil if the path names no
// file. Scripts and style sheets come without comments and indentation, on the same lines, and
// style sheets without spaces that mean nothing.
func (s *Server) asset(address string) (kind string, data []byte) {
	name := strings.TrimPrefix(address, "/")
	if name == "" {
		name = "index.html"
	}
	kind = mediaTypes[path.Ext(name)]
	if kind == "" {
		return "", nil
	}
	data, err := fs.ReadFile(s.Assets, name)
	if err != nil {
		return "", nil
	}
	if ext := path.Ext(name); ext == ".js" || ext == ".css" {
		data = forReaders().ReplaceAll(data, nil)
	}
	if path.Ext(name) == ".css" {
		data = []byte(cssSpaces().Replace(string(data)))
	}
	return kind, data
}
