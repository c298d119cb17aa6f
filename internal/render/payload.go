package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/spool"
	"mcpc/internal/wire"
)

// Payload returns a function that writes what -o FILE saves of a result: the decoded bytes of its
// only image, sound or blob; else its texts; else its JSON. The function returns a short
// description of what it wrote. Payload fails if the result has several binary blocks or invalid
// base64.
func Payload(method string, result json.RawMessage) (write func(io.Writer) (what string, err error), err error) {
	blocks := resultBlocks(method, result)
	texts, media := splitBlocks(blocks)
	if len(media) > 1 {
		return nil, &PayloadError{
			Text: fmt.Sprintf("the result has %d binary blocks, but -o saves one", len(media)),
			Hint: wire.Hint("select one, for example --jq '" + media[0].path + "' | base64 -d"),
		}
	}
	if len(media) == 1 {
		data, err := decodePayload(media[0])
		if err != nil {
			return nil, err
		}
		return func(w io.Writer) (string, error) {
			_, err := spool.WriteAll(w, data)
			return term.Line(describeMedia(media[0])), err
		}, nil
	}
	if method == "resources/read" && len(blocks) == 1 && blocks[0].kind == textBlock {
		texts = blocks // also a blank text: it is the whole file
	}
	if len(texts) == 0 {
		return jsonPayload(method, result), nil
	}
	return func(w io.Writer) (string, error) {
		n, err := writeTexts(w, texts)
		return "text, " + term.Size(n), err
	}, nil
}

// Unsaved says how many blocks of each kind Payload does not save, such as "1 text, 3 resource_link"; ""
// if it saves all. It ignores structuredContent that repeats a text.
func Unsaved(method string, result json.RawMessage) string {
	blocks := resultBlocks(method, result)
	texts, media := splitBlocks(blocks)
	var structured json.RawMessage
	if members, err := jsonraw.Object(result); err == nil && method == "tools/call" {
		structured, _ = members.Get("structuredContent")
	}
	savesJSON := len(texts)+len(media) == 0
	if savesJSON && structured == nil {
		return "" // Payload saves the whole result as JSON
	}
	var kinds []string
	count := map[string]int{}
	for _, b := range blocks {
		isSaved := b.kind == textBlock
		if len(media) == 1 { // then only the media block is saved
			isSaved = b.kind == mediaBlock
		}
		isBlankText := b.kind == textBlock && b.isBlank()
		if isSaved || isBlankText {
			continue
		}
		kind := "resource"
		if b.name != "" {
			kind = term.Line(b.name)
		}
		count[kind]++
		if count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", count[kind], kind)
	}
	hasStructured := structured != nil && !isEmptyStructured(structured)
	if hasStructured && !savesJSON && !repeatedIn(blocks, structured) {
		kinds = append(kinds, "structuredContent")
	}
	return strings.Join(kinds, ", ")
}

// decodePayload returns the bytes of a block, or a PayloadError.
func decodePayload(b block) ([]byte, error) {
	data, err := b.decode()
	if err != nil {
		return nil, &PayloadError{
			Broken: true,
			Text:   fmt.Sprintf("decoding %s: %v", b.path, err),
			Hint:   wire.Hint("--jq '" + b.path + "' prints the text unchanged"),
		}
	}
	return data, nil
}

// A PayloadError says why -o has nothing to save. Broken is true if the result is invalid, false if
// the user asked for something that the result does not have.
type PayloadError struct {
	Broken bool
	Text   string
	Hint   wire.Hint
}

func (e *PayloadError) Error() string { return e.Text }

// jsonPayload returns a function that writes a tool's structured content, or else the whole result.
func jsonPayload(method string, result json.RawMessage) func(io.Writer) (string, error) {
	raw := result
	if members, err := jsonraw.Object(result); err == nil && method == "tools/call" {
		if structured, ok := members.Get("structuredContent"); ok {
			raw = structured
		}
	}
	return func(w io.Writer) (string, error) {
		_, err := spool.WriteAll(w, raw)
		if err == nil {
			_, err = io.WriteString(w, "\n")
		}
		return "JSON, " + term.Size(len(raw)+1), err
	}
}

// resultBlocks returns all blocks of a result of tools/call, resources/read or prompts/get.
func resultBlocks(method string, result json.RawMessage) []block {
	members, _ := jsonraw.Object(result)
	list := func(name string) []json.RawMessage {
		raw, _ := members.Get(name)
		items, _ := listOrOne(raw)
		return items
	}
	switch method {
	case "tools/call":
		return parseBlocks(list("content"), ".content")
	case "resources/read":
		return parseContents(list("contents"))
	case "prompts/get":
		var blocks []block
		for i, raw := range list("messages") {
			message, _ := jsonraw.Object(raw)
			content, _ := message.Get("content")
			blocks = append(blocks, messageBlocks(content, i)...)
		}
		return blocks
	}
	return nil
}

// splitBlocks returns the texts that are not blank and the blocks of bytes.
func splitBlocks(blocks []block) (texts, media []block) {
	for _, b := range blocks {
		if b.kind == textBlock && !b.isBlank() {
			texts = append(texts, b)
		} else if b.kind == mediaBlock {
			media = append(media, b)
		}
	}
	return texts, media
}

// saveFlag returns the flag that saves the only binary block, or "" if there is not exactly one.
func saveFlag(blocks []block) string {
	media := 0
	for _, b := range blocks {
		if b.kind == mediaBlock {
			media++
		}
	}
	if media == 1 {
		return "-o FILE"
	}
	return ""
}

// writeTexts writes a single text unchanged, and several texts with a line end each. It returns the
// number of bytes.
func writeTexts(w io.Writer, texts []block) (int, error) {
	count := &countingWriter{w: w}
	p := &resultWriter{w: count}
	for _, b := range texts {
		if ended := p.writeVerbatim(b); !ended && len(texts) > 1 && p.err == nil {
			_, p.err = io.WriteString(count, "\n")
		}
	}
	return count.n, p.err
}

// countingWriter counts the bytes that it writes.
type countingWriter struct {
	w io.Writer
	n int
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	return n, err
}
