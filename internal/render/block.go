package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/spool"
)

// The ways in which a content block is shown (server/tools, "Tool Result").
const (
	textBlock    = iota
	mediaBlock   // image, audio, or a resource's blob
	linkBlock    // resource_link
	unknownBlock // anything that has not the shape of its type
)

// A block is one content block, or one entry of a resource's contents.
type block struct {
	raw  json.RawMessage
	kind int
	// name is the block's type: "text", "image", "resource", or a stranger's.
	name string
	// text is that of a textBlock, unless it is long: then quoted is it, as a JSON string.
	text   string
	quoted json.RawMessage
	// data is base64 text, or quoted is it where it is long; mime is its declared type.
	data, mime string
	// path leads to data, as --jq would write it.
	path string
	// uri is set on resources.
	uri     string
	members jsonraw.Members
}

func parseBlocks(items []json.RawMessage, path string) []block {
	blocks := make([]block, len(items))
	for i, raw := range items {
		blocks[i] = parseBlock(raw, fmt.Sprintf("%s[%d]", path, i))
	}
	return blocks
}

// messageBlocks are the blocks of one prompt message: one, or in the newer
// shape a list.
func messageBlocks(content json.RawMessage, message int) []block {
	path := fmt.Sprintf(".messages[%d].content", message)
	if items, err := jsonraw.Array(content); err == nil {
		return parseBlocks(items, path)
	}
	return []block{parseBlock(content, path)}
}

// listOrOne returns the items of an array, or a text or an object as the only item, as some servers write it.
// It reports false for everything else.
func listOrOne(raw json.RawMessage) (items []json.RawMessage, ok bool) {
	if len(raw) > 0 && (raw[0] == '{' || raw[0] == '"') {
		return []json.RawMessage{raw}, true
	}
	items, err := jsonraw.Array(raw)
	return items, err == nil
}

// parseBlock parses a content block. A bare text is a text block, and a block without a type has the type that its
// members show.
func parseBlock(raw json.RawMessage, path string) block {
	if len(raw) > 0 && raw[0] == '"' {
		b := block{raw: raw, kind: unknownBlock, path: path, name: "text"}
		b.readText(jsonraw.Members{{Name: "text", Value: raw}})
		return b
	}
	members, _ := jsonraw.Object(raw)
	b := block{raw: raw, kind: unknownBlock, members: members, path: path, name: members.Text("type")}
	if _, typed := members.Get("type"); !typed {
		b.name = typeOf(members)
	}
	switch b.name {
	case "text":
		b.readText(members)
	case "image", "audio":
		b.readData(members, "data")
	case "resource":
		b.readResource(members)
	case "resource_link":
		b.uri = members.Text("uri")
		if b.uri != "" {
			b.kind, b.mime = linkBlock, members.Text("mimeType")
		}
	}
	return b
}

// typeOf returns the type of a content block that does not say it, or "".
func typeOf(members jsonraw.Members) string {
	mime := members.Text("mimeType")
	switch {
	case members.Value("data") != nil && strings.HasPrefix(mime, "image/"):
		return "image"
	case members.Value("data") != nil && strings.HasPrefix(mime, "audio/"):
		return "audio"
	case members.Value("text") != nil:
		return "text"
	case members.Value("resource") != nil:
		return "resource"
	}
	return ""
}

func (b *block) readText(m jsonraw.Members) bool {
	raw, _ := m.Get("text")
	if len(raw) > spool.Memory && raw[0] == '"' {
		b.kind = textBlock
		b.quoted = raw
		return true
	}
	text, ok := jsonraw.Text(raw)
	if ok {
		b.kind = textBlock
		b.text = text
	}
	return ok
}

// wholeText is the text of a textBlock, or the base64 text of a long mediaBlock.
func (b *block) wholeText() string {
	if b.quoted != nil {
		text, _ := jsonraw.Text(b.quoted)
		return text
	}
	return b.text
}

// isBlank reports a text that shows nothing.
func (b *block) isBlank() bool {
	if b.quoted == nil {
		return strings.TrimSpace(b.text) == ""
	}
	for piece := range jsonraw.Unescaped(b.quoted) {
		if len(bytes.TrimSpace(piece)) > 0 {
			return false
		}
	}
	return true
}

func (b *block) readData(m jsonraw.Members, name string) {
	raw, _ := m.Get(name)
	if len(raw) > spool.Memory && raw[0] == '"' {
		b.quoted = raw
	} else if data, ok := jsonraw.Text(raw); ok {
		b.data = data
	} else {
		return
	}
	b.kind, b.mime = mediaBlock, m.Text("mimeType")
	b.path += "." + name
}

func (b *block) readResource(m jsonraw.Members) {
	raw, _ := m.Get("resource")
	inner, err := jsonraw.Object(raw)
	if err != nil {
		return
	}
	b.path += ".resource"
	b.readContents(inner)
}

// readContents reads a TextResourceContents or a BlobResourceContents.
func (b *block) readContents(m jsonraw.Members) {
	b.uri, b.mime = m.Text("uri"), m.Text("mimeType")
	if !b.readText(m) {
		b.readData(m, "blob")
	}
}

func parseContents(items []json.RawMessage) []block {
	blocks := make([]block, len(items))
	for i, raw := range items {
		members, _ := jsonraw.Object(raw)
		b := block{raw: raw, kind: unknownBlock, members: members, name: "resource"}
		b.path = fmt.Sprintf(".contents[%d]", i)
		b.readContents(members)
		blocks[i] = b
	}
	return blocks
}

func (p *resultWriter) block(b block) {
	switch b.kind {
	case textBlock:
		if b.name == "resource" && p.st.Pretty() {
			p.line(p.tag("resource "+p.st.Line(b.uri), p.cutLine(b.mime), term.Size(len(b.wholeText()))))
		}
		p.writeTextBlock(b)
	case mediaBlock:
		p.media(b)
	case linkBlock:
		p.link(b)
	default:
		p.note("[" + p.unknownText(b) + "]")
		p.json(b.raw)
	}
	p.annotations(b.members)
}

func (p *resultWriter) unknownText(b block) string {
	switch b.name {
	case "text", "image", "audio", "resource", "resource_link":
		return "a block of type " + b.name + " without its content"
	case "":
		return "a block without a type"
	}
	return "a block of unknown type " + p.cutLine(b.name)
}

// media writes one line for a block of bytes, and for a reader how to save it.
func (p *resultWriter) media(b block) {
	what := describeMedia(b)
	resource := ""
	if b.uri != "" {
		resource = "resource " + p.st.Line(b.uri)
	}
	beside := ""
	if save := p.saveCommand(b); save != "" && p.st.Pretty() {
		beside = p.st.Paint(term.Dim, "save it: "+save)
	}
	p.writeTagged(p.tag(resource, p.cutLine(what)), beside, term.Gap)
	p.picture(b)
}

// saveCommand is how the bytes of b are saved, or where they are no base64, the text
// that was sent in their place.
func (p *resultWriter) saveCommand(b block) string {
	_, err := b.decode()
	if b.data == "" && b.quoted == nil {
		return ""
	}
	if err != nil {
		return "--jq '" + b.path + "' > FILE"
	}
	if p.save != "" {
		return p.save
	}
	return "--jq '" + b.path + "' | base64 -d > FILE"
}

func (p *resultWriter) link(b block) {
	title := cmp.Or(b.members.Text("title"), b.members.Text("name"))
	length := ""
	if raw, ok := b.members.Get("size"); ok {
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && n >= 0 {
			length = term.Size(n)
		}
	}
	line := p.tag("resource_link "+p.st.Line(b.uri), p.cutLine(title), p.cutLine(b.mime), length)
	p.writeTagged(line, p.st.Line(b.members.Text("description")), " ")
}

// beside writes a tag and what belongs to it, on one line, or for a reader below it
// where the terminal is too narrow for both.
func (p *resultWriter) writeTagged(tag, text, between string) {
	switch {
	case text == "":
		p.line(tag)
	case p.st.Terminal && term.Width(tag+between+text) > p.st.Columns():
		p.line(tag)
		p.line("  " + p.st.WrapIndented(text, 2, 2))
	default:
		p.line(tag + between + text)
	}
}

// annotations writes a block's annotations, such as audience and priority (server,
// "Annotations").
func (p *resultWriter) annotations(members jsonraw.Members) {
	if said := p.annotationTexts(members); len(said) > 0 {
		p.note("(" + strings.Join(said, "; ") + ")")
	}
}

func (p *resultWriter) annotationTexts(members jsonraw.Members) (said []string) {
	raw, _ := members.Get("annotations")
	notes, _ := jsonraw.Object(raw)
	for _, m := range notes {
		value := jsonraw.TextOrRaw(m.Value)
		if items, err := jsonraw.Array(m.Value); err == nil {
			texts := make([]string, len(items))
			for i, item := range items {
				texts[i] = jsonraw.TextOrRaw(item)
			}
			value = strings.Join(texts, ", ")
		}
		said = append(said, p.cutLine(m.Name)+" "+p.cutLine(value))
	}
	return said
}

// tag is a bracket in the colour by which a reader tells mcpc's words from a server's.
func (p *resultWriter) tag(parts ...string) string { return p.st.Paint(term.Cyan, p.bracket(parts...)) }

// bracket is [a, b, c] without the empty parts.
func (p *resultWriter) bracket(parts ...string) string {
	var said []string
	for _, part := range parts {
		if part != "" {
			said = append(said, part)
		}
	}
	return "[" + strings.Join(said, ", ") + "]"
}

// short is a server's word within a line of mcpc's own.
func (p *resultWriter) cutLine(s string) string { return p.st.Cut(p.st.Line(s), 120) }
