package web

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed page
var pageFiles embed.FS

// assets are the files of the page.
func assets() fs.FS {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the name is in this file
	}
	return files
}

// mediaTypes are those of the page's files.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// asset gives a file of the page by the path of its address; nil for any other path.
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
	return kind, data
}
