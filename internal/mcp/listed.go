package mcp

import (
	"encoding/json"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Prompt is one entry of a prompts/list result (server/prompts, "Prompt"). Raw
// is the entry as it crossed.
type Prompt struct {
	Raw                      json.RawMessage
	Name, Title, Description string
	Arguments                []PromptArgument
}

// A PromptArgument is what a prompt says about one of its arguments, whose value
// is always a string.
type PromptArgument struct {
	Name, Title, Description string
	Required                 bool
}

// ParsePrompt takes one entry of prompts/list apart. An entry that no client could
// get gives a Finding and no prompt.
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
		p.Arguments = append(p.Arguments, PromptArgument{Name: argument.Text("name"), Title: argument.Text("title"),
			Description: argument.Text("description"), Required: string(argument.Value("required")) == "true"})
	}
	return p, nil
}

// A Resource is one entry of a resources/list result, or of a
// resources/templates/list result, whose URI is a template (server/resources,
// "Resource" and "Resource Templates"). Raw is the entry as it crossed.
type Resource struct {
	Raw                           json.RawMessage
	URI, Name, Title, Description string
	MIMEType                      string
	// Size is in bytes; -1 where the server did not say.
	Size int64
}

// ParseResource takes one entry of resources/list apart. An entry that no client
// could read gives a Finding and no resource.
func ParseResource(raw json.RawMessage) (Resource, *wire.Finding) { return parseResource(raw, "uri") }

// ParseTemplate does the same for an entry of resources/templates/list.
func ParseTemplate(raw json.RawMessage) (Resource, *wire.Finding) {
	return parseResource(raw, "uriTemplate")
}

// ParseSkill reads an entry of skills/list as the resource that its SKILL.md is, with the name and
// the description of its front matter. It loads no skill.
func ParseSkill(raw json.RawMessage) (Resource, *wire.Finding) {
	r, bad := parseResource(raw, "uri")
	if bad != nil {
		bad.Text = strings.Replace(bad.Text, "resource", "skill", 1)
		return r, bad
	}
	front, _ := jsonraw.Object(jsonraw.First(raw, "frontmatter"))
	r.Name, r.Title, r.Description, r.MIMEType, r.Size = front.Text("name"), "", front.Text("description"), "", -1
	return r, nil
}

func parseResource(raw json.RawMessage, uri string) (Resource, *wire.Finding) {
	members, err := jsonraw.Object(raw)
	if err != nil {
		return Resource{}, badEntry("resource", "the entry is not an object: %s", jsonraw.Excerpt(raw, 60))
	}
	r := Resource{Raw: raw, URI: members.Text(uri), Name: members.Text("name"), Title: members.Text("title"),
		Description: members.Text("description"), MIMEType: members.Text("mimeType"), Size: -1}
	if r.URI == "" {
		return Resource{}, missingMember("resource", uri, members.Value(uri))
	}
	if n, err := strconv.ParseInt(string(members.Value("size")), 10, 64); err == nil && n >= 0 {
		r.Size = n
	}
	return r, nil
}
