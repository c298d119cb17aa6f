package render

import (
	"encoding/json"
	"io"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/spool"
)

// Result writes the result of method for a reader: texts as texts, images by type and size, and
// JSON for everything else. It writes a result with isError the same way; the caller names the
// channel on standard error. A pipe gets the bytes of the texts, each with a line end.
func Result(w io.Writer, st term.Style, method string, result json.RawMessage) error {
	p := &resultWriter{w: w, st: st}
	switch method {
	case "tools/call":
		p.writeToolResult(result)
	case "prompts/get":
		p.isLiteral = true
		p.writePrompt(result)
	case "resources/read":
		p.writeContents(result)
	default:
		p.writeJSON(result)
	}
	return p.err
}

// resultWriter writes a Result. After the first failed write it writes nothing more.
type resultWriter struct {
	w   io.Writer
	st  term.Style
	err error
	// saveFlag is the flag that saves the only binary block of the result; "" if there are several.
	saveFlag string
	// pictureCount counts the pictures, for maxPictures.
	pictureCount int
	// isLiteral is true for prompts: their texts are shown unchanged, since a model reads them so.
	isLiteral bool
}

// writeText writes a server's text of a declared media type. It indents JSON and draws Markdown for a
// reader.
func (p *resultWriter) writeText(mime, text string) {
	if p.err != nil {
		return
	}
	switch {
	case !p.st.Pretty():
		p.err = term.WriteText(p.w, []byte(text))
	case looksLikeJSON(text):
		p.err = PrettyJSON(p.w, p.st, []byte(text))
	case p.isMarkdown(mime, text):
		p.err = term.WriteText(p.w, []byte(term.Markdown(p.st, text)))
	default:
		p.err = term.WriteText(p.w, []byte(p.st.Block(text)))
	}
}

// writeTextBlock writes the text of a textBlock. It writes a long text into a pipe in pieces.
func (p *resultWriter) writeTextBlock(b block) {
	if b.quoted == nil || p.st.Pretty() {
		p.writeText(b.mime, b.wholeText())
		return
	}
	if !p.writeUnescaped(b.quoted) && p.err == nil {
		_, p.err = io.WriteString(p.w, "\n")
	}
}

// writeUnescaped writes the text of a JSON string in pieces. It reports whether the text ends in a
// line end.
func (p *resultWriter) writeUnescaped(quoted json.RawMessage) bool {
	ended := false
	for piece := range jsonraw.Unescaped(quoted) {
		if p.err != nil {
			return false
		}
		_, p.err = p.w.Write(piece)
		ended = piece[len(piece)-1] == '\n'
	}
	return ended
}

// writeVerbatim writes the text of b byte for byte. It reports whether the text ends in a line end.
func (p *resultWriter) writeVerbatim(b block) bool {
	if b.quoted != nil {
		return p.writeUnescaped(b.quoted)
	}
	if p.err == nil {
		_, p.err = io.WriteString(p.w, b.text)
	}
	return strings.HasSuffix(b.text, "\n")
}

// writeJSON writes JSON, indented for a reader.
func (p *resultWriter) writeJSON(raw json.RawMessage) {
	if p.err != nil {
		return
	}
	if p.st.Pretty() {
		p.err = PrettyJSON(p.w, p.st, raw)
	} else {
		p.err = term.WriteLine(p.w, raw)
	}
}

// writeLine writes a line of mcpc's own. Its parts are sanitized already.
func (p *resultWriter) writeLine(text string) {
	if p.err == nil {
		p.err = term.WriteLine(p.w, []byte(text))
	}
}

// writeNote writes a dim line for a reader. A pipe does not get it.
func (p *resultWriter) writeNote(text string) {
	if p.st.Pretty() {
		p.writeLine(p.st.Paint(term.Dim, text))
	}
}

// looksLikeJSON reports whether text is a JSON object or array. A lone number or word is readable
// without indentation.
func looksLikeJSON(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && (text[0] == '{' || text[0] == '[') && jsonraw.Valid([]byte(text)) == nil
}

// writeToolResult writes a result of tools/call: its content, and structuredContent if no text repeats
// it.
func (p *resultWriter) writeToolResult(result json.RawMessage) {
	members, _ := jsonraw.Object(result)
	content, _ := members.Get("content")
	items, isList := listOrOne(content)
	structured, hasStructured := members.Get("structuredContent")
	if !isList && !hasStructured {
		p.writeJSON(result) // not a tool result of a known revision
		return
	}
	blocks := parseBlocks(items, ".content")
	p.saveFlag = saveFlag(blocks)
	for _, b := range blocks {
		p.writeBlock(b)
	}
	if !hasStructured {
		if len(blocks) == 0 {
			p.writeNote("(no content)")
		}
		return
	}
	if len(blocks) == 0 {
		p.writeJSON(structured)
	} else if !repeatedIn(blocks, structured) && !isEmptyStructured(structured) {
		p.writeNote("structuredContent:")
		p.writeJSON(structured)
	}
}

// isEmptyStructured reports whether structuredContent has no content: some servers send {} or null
// for a tool without an outputSchema.
func isEmptyStructured(structured json.RawMessage) bool {
	text := string(jsonraw.Compact(structured))
	return text == "{}" || text == "null"
}

// writePrompt writes each message's role on a separate line and the content below it.
func (p *resultWriter) writePrompt(result json.RawMessage) {
	members, _ := jsonraw.Object(result)
	list, _ := members.Get("messages")
	messages, isList := listOrOne(list)
	if !isList {
		p.writeJSON(result)
		return
	}
	if text := members.Text("description"); text != "" {
		p.writeNote(p.st.Line(text))
		p.writeNote("")
	}
	for i, raw := range messages {
		if i > 0 {
			p.writeNote("")
		}
		p.writeMessage(raw, i)
	}
	if len(messages) == 0 {
		p.writeNote("(no messages)")
	}
}

// writeMessage writes the message with index i of a prompt.
func (p *resultWriter) writeMessage(raw json.RawMessage, i int) {
	members, _ := jsonraw.Object(raw)
	role, hasRole := members.Get("role")
	content, hasContent := members.Get("content")
	if !hasRole || !hasContent {
		p.writeNote("[a message without role or content]")
		p.writeJSON(raw)
		return
	}
	p.writeLine(p.st.Paint(term.Bold, p.st.Line(jsonraw.TextOrRaw(role))+":"))
	for _, b := range messageBlocks(content, i) {
		p.writeBlock(b)
	}
}

// writeContents writes a result of resources/read.
func (p *resultWriter) writeContents(result json.RawMessage) {
	members, _ := jsonraw.Object(result)
	list, _ := members.Get("contents")
	items, isList := listOrOne(list)
	if !isList {
		p.writeJSON(result)
		return
	}
	blocks := parseContents(items)
	p.saveFlag = saveFlag(blocks)
	if len(blocks) == 0 {
		p.writeNote("(no contents)")
		return
	}
	if len(blocks) == 1 && blocks[0].kind == textBlock && p.st.Pretty() {
		p.writeTextBlock(blocks[0]) // without a line for its type and size
		return
	}
	isFile := len(blocks) == 1 && (blocks[0].kind == textBlock || blocks[0].kind == mediaBlock)
	if isFile && !p.st.Pretty() {
		p.writeFile(blocks[0])
		return
	}
	for _, b := range blocks {
		p.writeBlock(b)
	}
}

// writeFile writes the bytes of a resource unchanged, for a pipe: no line end is added. Invalid base64
// is a PayloadError in p.err.
func (p *resultWriter) writeFile(b block) {
	if b.kind == textBlock {
		p.writeVerbatim(b)
		return
	}
	data, err := decodePayload(b)
	p.err = err
	if err == nil {
		_, p.err = spool.WriteAll(p.w, data)
	}
}

// Contents names the contents of a resource, one line each: URI, type, size.
func Contents(result json.RawMessage) []string {
	var names []string
	for _, b := range resultBlocks("resources/read", result) {
		p := &resultWriter{}
		mime := p.cutLine(b.mime)
		description := ""
		switch b.kind {
		case textBlock:
			description = p.joinInBrackets(mime, term.Size(len(b.wholeText())))
		case mediaBlock:
			description = p.joinInBrackets(p.cutLine(describeMedia(b)))
		default:
			description = p.joinInBrackets(mime, "nothing to read")
		}
		names = append(names, term.Line(b.uri)+" "+description)
	}
	return names
}

// isMarkdown reports whether a text is shown as Markdown: its media type is Markdown, or it has no
// media type and looks like Markdown. Without colour the source is shown.
func (p *resultWriter) isMarkdown(mime, text string) bool {
	if !p.st.Color || p.st.RawText || p.isLiteral || len(text) > maxColored {
		return false
	}
	kind, _, _ := strings.Cut(strings.ToLower(mime), ";")
	switch strings.TrimSpace(kind) {
	case "text/markdown", "text/x-markdown":
		return true
	case "":
		return term.LooksLikeMarkdown(text)
	}
	return false
}
