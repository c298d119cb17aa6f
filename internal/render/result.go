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
		p.toolResult(result)
	case "prompts/get":
		p.literal = true
		p.prompt(result)
	case "resources/read":
		p.contents(result)
	default:
		p.json(result)
	}
	return p.err
}

// resultWriter writes a Result. After the first failed write it writes nothing more.
type resultWriter struct {
	w   io.Writer
	st  term.Style
	err error
	// save is the flag that saves the only binary block of the result; "" if there are several.
	save string
	// drawn counts the pictures.
	drawn int
	// literal is true for prompts: their texts are shown unchanged, since a model reads them so.
	literal bool
}

// text writes a server's text of a declared media type. It indents JSON and draws Markdown for a
// reader.
func (p *resultWriter) text(mime, text string) {
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
		p.text(b.mime, b.wholeText())
		return
	}
	if !p.writeUnescaped(b.quoted) && p.err == nil {
		_, p.err = io.WriteString(p.w, "\n")
	}
}

// writeUnescaped writes the text of a JSON string in pieces. It reports whether the text ends in a
// line end.
func (p *resultWriter) writeUnescaped(quoted json.RawMessage) (ended bool) {
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
func (p *resultWriter) writeVerbatim(b block) (ended bool) {
	if b.quoted != nil {
		return p.writeUnescaped(b.quoted)
	}
	if p.err == nil {
		_, p.err = io.WriteString(p.w, b.text)
	}
	return strings.HasSuffix(b.text, "\n")
}

// json writes JSON, indented for a reader.
func (p *resultWriter) json(raw json.RawMessage) {
	if p.err != nil {
		return
	}
	if p.st.Pretty() {
		p.err = PrettyJSON(p.w, p.st, raw)
	} else {
		p.err = term.WriteLine(p.w, raw)
	}
}

// line writes a line of mcpc's own. Its parts are sanitized already.
func (p *resultWriter) line(text string) {
	if p.err == nil {
		p.err = term.WriteLine(p.w, []byte(text))
	}
}

// note writes a dim line for a reader. A pipe does not get it.
func (p *resultWriter) note(text string) {
	if p.st.Pretty() {
		p.line(p.st.Paint(term.Dim, text))
	}
}

// looksLikeJSON reports whether text is a JSON object or array. A lone number or word is readable
// without indentation.
func looksLikeJSON(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && (text[0] == '{' || text[0] == '[') && jsonraw.Valid([]byte(text)) == nil
}

// toolResult writes a result of tools/call: its content, and structuredContent if no text repeats
// it.
func (p *resultWriter) toolResult(result json.RawMessage) {
	members, _ := jsonraw.Object(result)
	content, _ := members.Get("content")
	items, isList := listOrOne(content)
	structured, hasStructured := members.Get("structuredContent")
	if !isList && !hasStructured {
		p.json(result) // not a tool result of a known revision
		return
	}
	blocks := parseBlocks(items, ".content")
	p.save = saveFlag(blocks)
	for _, b := range blocks {
		p.block(b)
	}
	if !hasStructured {
		if len(blocks) == 0 {
			p.note("(no content)")
		}
		return
	}
	if len(blocks) == 0 {
		p.json(structured)
	} else if !repeatedIn(blocks, structured) && !isEmptyStructured(structured) {
		p.note("structuredContent:")
		p.json(structured)
	}
}

// isEmptyStructured reports whether structuredContent has no content: some servers send {} or null
// for a tool without an outputSchema.
func isEmptyStructured(structured json.RawMessage) bool {
	text := string(jsonraw.Compact(structured))
	return text == "{}" || text == "null"
}

// prompt writes each message's role on a line of its own and the content below it.
func (p *resultWriter) prompt(result json.RawMessage) {
	members, _ := jsonraw.Object(result)
	list, _ := members.Get("messages")
	messages, isList := listOrOne(list)
	if !isList {
		p.json(result)
		return
	}
	if text := members.Text("description"); text != "" {
		p.note(p.st.Line(text))
		p.note("")
	}
	for i, raw := range messages {
		if i > 0 {
			p.note("")
		}
		p.message(raw, i)
	}
	if len(messages) == 0 {
		p.note("(no messages)")
	}
}

// message writes the message with index i of a prompt.
func (p *resultWriter) message(raw json.RawMessage, i int) {
	members, _ := jsonraw.Object(raw)
	role, hasRole := members.Get("role")
	content, hasContent := members.Get("content")
	if !hasRole || !hasContent {
		p.note("[a message without role or content]")
		p.json(raw)
		return
	}
	p.line(p.st.Paint(term.Bold, p.st.Line(jsonraw.TextOrRaw(role))+":"))
	for _, b := range messageBlocks(content, i) {
		p.block(b)
	}
}

// contents writes a result of resources/read.
func (p *resultWriter) contents(result json.RawMessage) {
	members, _ := jsonraw.Object(result)
	list, _ := members.Get("contents")
	items, isList := listOrOne(list)
	if !isList {
		p.json(result)
		return
	}
	blocks := parseContents(items)
	p.save = saveFlag(blocks)
	switch {
	case len(blocks) == 1 && blocks[0].kind == textBlock && p.st.Pretty():
		p.writeTextBlock(blocks[0])
	case len(blocks) == 1 && blocks[0].kind <= mediaBlock && !p.st.Pretty():
		p.file(blocks[0])
	default:
		for _, b := range blocks {
			p.block(b)
		}
	}
	if len(blocks) == 0 {
		p.note("(no contents)")
	}
}

// file writes the bytes of a resource unchanged, for a pipe.
func (p *resultWriter) file(b block) {
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
		what := p.cutLine(b.mime)
		switch b.kind {
		case textBlock:
			what = p.bracket(what, term.Size(len(b.wholeText())))
		case mediaBlock:
			what = p.bracket(p.cutLine(describeMedia(b)))
		default:
			what = p.bracket(what, "nothing to read")
		}
		names = append(names, term.Line(b.uri)+" "+what)
	}
	return names
}

// isMarkdown reports whether a text is shown as Markdown: its media type says so, or it has no
// media type and looks like Markdown. Without colour the source is shown.
func (p *resultWriter) isMarkdown(mime, text string) bool {
	if !p.st.Color || p.st.RawText || p.literal || len(text) > maxColored {
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
