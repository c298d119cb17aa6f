package demo

import (
	"context"
	"embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//go:embed content
var content embed.FS

const (
	documentsURI = "demo://resource/static/document/"
	logoURI      = "demo://resource/static/image/logo.png"
	dynamicURI   = "demo://resource/dynamic/"
	pageURI      = "ui://demo/weather.html"

	textTemplate = dynamicURI + "text/{resourceId}"
	blobTemplate = dynamicURI + "blob/{resourceId}"
)

// addResources adds three documents, a resource with all of them, an image, a page, and two
// templates for any number of further resources.
func addResources(s *mcp.Server) {
	names := []string{"features.md", "how-it-works.md", "instructions.md"}
	for _, name := range names {
		addDocument(s, name)
	}
	addFolder(s, names)
	addPage(s)
	s.AddResource(&mcp.Resource{
		URI:         logoURI,
		Name:        "logo.png",
		Title:       "The mcpc logo",
		Description: "Binary resource: twenty by twenty pixels",
		MIMEType:    "image/png",
		Size:        int64(len(logo())),
		Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: 0.5},
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return oneContent(&mcp.ResourceContents{URI: logoURI, MIMEType: "image/png", Blob: logo()}), nil
	})
	addTemplates(s)
}

func addDocument(s *mcp.Server, name string) {
	body := readEmbedded(name)
	s.AddResource(&mcp.Resource{
		URI:         documentsURI + name,
		Name:        name,
		Description: "Static document: " + name,
		MIMEType:    "text/markdown",
		Size:        int64(len(body)),
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return oneContent(&mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/markdown", Text: string(body)}), nil
	})
}

// addFolder adds a resource with several contents, like a directory.
func addFolder(s *mcp.Server, names []string) {
	s.AddResource(&mcp.Resource{
		URI:         documentsURI,
		Name:        "document",
		Description: "All documents: a resource with several contents",
		MIMEType:    "inode/directory",
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		res := &mcp.ReadResourceResult{}
		for _, name := range names {
			res.Contents = append(res.Contents,
				&mcp.ResourceContents{URI: documentsURI + name, MIMEType: "text/markdown", Text: string(readEmbedded(name))})
		}
		return res, nil
	})
}

// addPage adds an HTML page for clients with a browser (extension MCP Apps). Its _meta.ui lists the
// hosts and permissions that it needs.
func addPage(s *mcp.Server) {
	s.AddResource(&mcp.Resource{
		URI:         pageURI,
		Name:        "weather.html",
		Title:       "Weather page",
		Description: "The page that show-weather names",
		MIMEType:    pageType,
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return oneContent(
			&mcp.ResourceContents{URI: pageURI, MIMEType: pageType, Text: string(readEmbedded("weather.html")), Meta: mcp.Meta{
				"ui": map[string]any{
					"csp":         map[string]any{"connectDomains": []string{"https://weather.example"}},
					"permissions": map[string]any{"geolocation": map[string]any{}},
				},
			}},
		), nil
	})
}

func addTemplates(s *mcp.Server) {
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name:        "Dynamic Text Resource",
		URITemplate: textTemplate,
		MIMEType:    "text/plain",
		Description: "Plaintext dynamic resource fabricated from the {resourceId} variable, which must be an integer.",
	}, readDynamic("Text"))
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name:        "Dynamic Blob Resource",
		URITemplate: blobTemplate,
		MIMEType:    "application/octet-stream",
		Description: "Binary (base64) dynamic resource fabricated from the {resourceId} variable, which must be an integer.",
	}, readDynamic("Blob"))
}

func readDynamic(kind string) mcp.ResourceHandler {
	return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		id := uri[strings.LastIndex(uri, "/")+1:]
		if !isResourceID(id) {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		return oneContent(dynamicResource(kind, id)), nil
	}
}

// dynamicResource returns the resource with the id. kind is Text or Blob.
func dynamicResource(kind, id string) *mcp.ResourceContents {
	if kind == "Text" {
		return &mcp.ResourceContents{
			URI:      dynamicURI + "text/" + id,
			MIMEType: "text/plain",
			Text:     fmt.Sprintf("Resource %s: This is a plaintext resource", id),
		}
	}
	return &mcp.ResourceContents{
		URI:      dynamicURI + "blob/" + id,
		MIMEType: "application/octet-stream",
		Blob:     fmt.Appendf(nil, "Resource %s: This is a base64 blob", id),
	}
}

// isResourceID reports whether id is a positive integer.
func isResourceID(id string) bool {
	return regexp.MustCompile(`^[1-9][0-9]*$`).MatchString(id)
}

func oneContent(c *mcp.ResourceContents) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}
}

func logo() []byte { return readEmbedded("logo.png") }

// readEmbedded returns an embedded file. It panics if the file does not exist.
func readEmbedded(name string) []byte {
	body, err := content.ReadFile("content/" + name)
	if err != nil {
		panic(fmt.Sprintf("demo: reading an embedded file: %v", err))
	}
	return body
}
