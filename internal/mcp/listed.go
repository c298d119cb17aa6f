package mcp

import (
	"encoding/json"
	"strconv"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Prompt is one entry of a prompts/list result (server/prompts, "Prompt"). Raw is the JSON of the
// entry.
type Prompt struct {
	Raw                      json.RawMessage
	Name, Title, Description string
	Arguments                []PromptArgument
}

// A PromptArgument is an argument of a prompt. Its value is always a string.
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
}

// ParsePrompt parses one entry of prompts/list. It returns a Finding for an entry that no client
// could get.
func ParsePrompt(raw json.RawMessage) (Prompt, *wire.Finding) {
	members, err := jsonraw.Object(raw)
	if err != nil {
		return Prompt{}, badEntry("prompt", "the entry is not an object: %s", jsonraw.Excerpt(raw, 60))
	}
	p := Prompt{
		Raw:         raw,
		Name:        members.Text("name"),
		Title:       members.Text("title"),
		Description: members.Text("description"),
	}
	if p.Name == "" {
		return Prompt{}, missingMember("prompt", "name", members.Value("name"))
	}
	items, _ := jsonraw.Array(members.Value("arguments"))
	for _, item := range items {
		argument, _ := jsonraw.Object(item)
		p.Arguments = append(p.Arguments, PromptArgument{
			Name: argument.Text("name"), Title: argument.Text("title"),
			Description: argument.Text("description"), Required: string(argument.Value("required")) == "true",
		})
	}
	return p, nil
}

// A Resource is one entry of a resources/list or resources/templates/list result (server/resources,
// "Resource" and "Resource Templates"). The URI of a template is a URI template. Raw is the JSON of
// the entry.
type Resource struct {
	Raw                           json.RawMessage
	URI, Name, Title, Description string
	MIMEType                      string
	// Size is in bytes; -1 if the server did not declare it.
	Size int64
}

// ParseResource parses one entry of resources/list. It returns a Finding for an entry that no
// client could read.
func ParseResource(raw json.RawMessage) (Resource, *wire.Finding) { return parseResource(raw, "uri") }

// ParseTemplate parses one entry of resources/templates/list as ParseResource does.
func ParseTemplate(raw json.RawMessage) (Resource, *wire.Finding) {
	return parseResource(raw, "uriTemplate")
}

// ParseSkill parses an entry of skills/list as the resource of its SKILL.md, with the name and the
// description of its front matter. It does not load the skill.
func ParseSkill(raw json.RawMessage) (Resource, *wire.Finding) {
	r, finding := parseResource(raw, "uri")
	if finding != nil {
		return r, finding
	}
	front, _ := jsonraw.Object(jsonraw.First(raw, "frontmatter"))
	return Resource{
		Raw: raw, URI: r.URI, Name: front.Text("name"), Description: front.Text("description"), Size: -1,
	}, nil
}

// parseResource parses an entry of a list of resources. uriMember is the member that has the URI.
func parseResource(raw json.RawMessage, uriMember string) (Resource, *wire.Finding) {
	members, err := jsonraw.Object(raw)
	if err != nil {
		return Resource{}, badEntry("resource", "the entry is not an object: %s", jsonraw.Excerpt(raw, 60))
	}
	r := Resource{
		Raw: raw, URI: members.Text(uriMember), Name: members.Text("name"), Title: members.Text("title"),
		Description: members.Text("description"), MIMEType: members.Text("mimeType"), Size: -1,
	}
	if r.URI == "" {
		return Resource{}, missingMember("resource", uriMember, members.Value(uriMember))
	}
	if n, err := strconv.ParseInt(string(members.Value("size")), 10, 64); err == nil && n >= 0 {
		r.Size = n
	}
	return r, nil
}
