package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/spool"
)

// The ways to show a content block (server/tools, "Tool Result").
const (
	textBlock    = iota
	mediaBlock   // image, audio, or a resource's blob
	linkBlock    // resource_link
	unknownBlock // a block of another type, or without the members of its type
)

// A block is one content block, or one entry of a resource's contents.
type block struct {
	raw  json.RawMessage
	kind int
	// name is the block's type: "text", "image", "resource", or an unknown one.
	name string
	// text is the text of a textBlock. A long text, or long base64 data, is in quoted instead, as a
	// JSON string.
	text   string
	quoted json.RawMessage
	// data is base64 text, mime its declared type.
	data, mime string
	// path is the path to data, as --jq takes it.
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

// messageBlocks returns the blocks of one prompt message: one, or a list in newer revisions.
func messageBlocks(content json.RawMessage, message int) []block {
	path := fmt.Sprintf(".messages[%d].content", message)
	if items, err := jsonraw.Array(content); err == nil {
		return parseBlocks(items, path)
	}
	return []block{parseBlock(content, path)}
}

// listOrOne returns the items of an array, or a text or an object as the only item, as some servers
// send it. Otherwise it reports false.
func listOrOne(raw json.RawMessage) (items []json.RawMessage, ok bool) {
	if len(raw) > 0 && (raw[0] == '{' || raw[0] == '"') {
		return []json.RawMessage{raw}, true
	}
	items, err := jsonraw.Array(raw)
	return items, err == nil
}

// parseBlock parses a content block. A bare text is a text block. The members of a block without a
// type imply its type. The kind is unknownBlock if the members of its type are missing.
func parseBlock(raw json.RawMessage, path string) block {
	if len(raw) > 0 && raw[0] == '"' {
		b := block{raw: raw, kind: unknownBlock, path: path, name: "text"}
		b.readText(jsonraw.Members{{Name: "text", Value: raw}})
		return b
	}
	members, _ := jsonraw.Object(raw)
	b := block{raw: raw, kind: unknownBlock, members: members, path: path, name: members.Text("type")}
	if _, hasType := members.Get("type"); !hasType {
		b.name = impliedBlockType(members)
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

// impliedBlockType returns the type of a content block without a type member, or "".
func impliedBlockType(members jsonraw.Members) string {
	mime := members.Text("mimeType")
	if members.Value("data") != nil && strings.HasPrefix(mime, "image/") {
		return "image"
	}
	if members.Value("data") != nil && strings.HasPrefix(mime, "audio/") {
		return "audio"
	}
	if members.Value("text") != nil {
		return "text"
	}
	if members.Value("resource") != nil {
		return "resource"
	}
	return ""
}

// readText reads the member text. It reports whether m has one.
func (b *block) readText(m jsonraw.Members) bool {
	raw, _ := m.Get("text")
	if len(raw) > spool.Memory && raw[0] == '"' { // decoded in pieces when it is written
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

// wholeText returns the text of a textBlock, or the base64 text of a long mediaBlock.
func (b *block) wholeText() string {
	if b.quoted != nil {
		text, _ := jsonraw.Text(b.quoted)
		return text
	}
	return b.text
}

// isBlank reports whether the text is empty or only white space.
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

// readData reads the base64 text in the member name. It does nothing if m has no such member.
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

// parseContents parses the contents of a result of resources/read.
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

// writeBlock writes one block and its annotations.
func (p *resultWriter) writeBlock(b block) {
	switch b.kind {
	case textBlock:
		if b.name == "resource" && p.st.Pretty() {
			p.writeLine(p.coloredBrackets("resource "+p.st.Line(b.uri), p.cutLine(b.mime), term.Size(len(b.wholeText()))))
		}
		p.writeTextBlock(b)
	case mediaBlock:
		p.writeMedia(b)
	case linkBlock:
		p.writeLink(b)
	default:
		p.writeNote("[" + p.unknownText(b) + "]")
		p.writeJSON(b.raw)
	}
	p.writeAnnotations(b.members)
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

// writeMedia writes one line for a block of bytes and, for a reader, how to save it.
func (p *resultWriter) writeMedia(b block) {
	description := describeMedia(b)
	resource := ""
	if b.uri != "" {
		resource = "resource " + p.st.Line(b.uri)
	}
	advice := ""
	if save := p.saveCommand(b); save != "" && p.st.Pretty() {
		advice = p.st.Paint(term.Dim, "save it: "+save)
	}
	p.writeTagged(p.coloredBrackets(resource, p.cutLine(description)), advice, term.Gap)
	p.drawPicture(b)
}

// saveCommand returns the flags that save the bytes of b, or its text if it is not base64. It
// returns "" if b has no data.
func (p *resultWriter) saveCommand(b block) string {
	if b.data == "" && b.quoted == nil {
		return ""
	}
	if _, err := b.decode(); err != nil {
		return "--jq '" + b.path + "' > FILE"
	}
	if p.saveFlag != "" {
		return p.saveFlag
	}
	return "--jq '" + b.path + "' | base64 -d > FILE"
}

// writeLink writes a resource_link: its tag and its description.
func (p *resultWriter) writeLink(b block) {
	title := b.members.Text("title")
	if title == "" {
		title = b.members.Text("name")
	}
	length := ""
	if raw, ok := b.members.Get("size"); ok {
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && n >= 0 {
			length = term.Size(n)
		}
	}
	line := p.coloredBrackets("resource_link "+p.st.Line(b.uri), p.cutLine(title), p.cutLine(b.mime), length)
	p.writeTagged(line, p.st.Line(b.members.Text("description")), " ")
}

// writeTagged writes a tag and a text on one line. If the terminal is too narrow for both, it
// writes the text on a separate line.
func (p *resultWriter) writeTagged(tag, text, separator string) {
	if text == "" {
		p.writeLine(tag)
	} else if p.st.Terminal && term.Width(tag+separator+text) > p.st.Columns() {
		p.writeLine(tag)
		p.writeLine("  " + p.st.WrapIndented(text, 2, 2))
	} else {
		p.writeLine(tag + separator + text)
	}
}

// writeAnnotations writes a block's annotations, such as audience and priority (server, "Annotations").
func (p *resultWriter) writeAnnotations(members jsonraw.Members) {
	if texts := p.annotationTexts(members); len(texts) > 0 {
		p.writeNote("(" + strings.Join(texts, "; ") + ")")
	}
}

// annotationTexts returns "name value" for each annotation; the items of a list become one value.
func (p *resultWriter) annotationTexts(members jsonraw.Members) []string {
	var texts []string
	raw, _ := members.Get("annotations")
	annotations, _ := jsonraw.Object(raw)
	for _, m := range annotations {
		value := jsonraw.TextOrRaw(m.Value)
		if items, err := jsonraw.Array(m.Value); err == nil {
			words := make([]string, len(items))
			for i, item := range items {
				words[i] = jsonraw.TextOrRaw(item)
			}
			value = strings.Join(words, ", ")
		}
		texts = append(texts, p.cutLine(m.Name)+" "+p.cutLine(value))
	}
	return texts
}

// coloredBrackets returns parts in brackets, in the colour of mcpc's own words.
func (p *resultWriter) coloredBrackets(parts ...string) string {
	return p.st.Paint(term.Cyan, p.joinInBrackets(parts...))
}

// joinInBrackets returns [a, b, c] without the empty parts.
func (p *resultWriter) joinInBrackets(parts ...string) string {
	parts = slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "" })
	return "[" + strings.Join(parts, ", ") + "]"
}

// cutLine returns a server's text for use within a line of mcpc's own.
func (p *resultWriter) cutLine(s string) string { return p.st.Cut(p.st.Line(s), 120) }
