package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// Payload is what -o FILE saves of a result: the decoded bytes where it holds
// one image, sound or blob, whatever texts stand around it; else its text; else
// its JSON. what says in a few words what data is. It fails where there is no
// one answer: several binary blocks, or base64 that is none.
func Payload(method string, result json.RawMessage) (data []byte, what string, err error) {
	blocks := resultBlocks(method, result)
	texts, media := split(blocks)
	switch {
	case len(media) == 1:
		data, err = decoded(media[0])
		return data, term.Line(describeMedia(media[0])), err
	case len(media) > 1:
		return nil, "", &PayloadError{false, fmt.Sprintf("the result has %d binary blocks, but -o saves one", len(media)),
			wire.Hint("select one, for example --jq '" + media[0].path + "' | base64 -d")}
	case len(blocks) == 1 && blocks[0].kind == textBlock && method == "resources/read":
		data = []byte(blocks[0].wholeText()) // an empty file is a file
		return data, "text, " + term.Size(len(data)), nil
	case len(texts) > 0:
		data = joinLines(texts)
		return data, "text, " + term.Size(len(data)), nil
	}
	return jsonPayload(method, result)
}

// Unsaved names what Payload leaves out of a result, by kinds, as in "1 text, 3
// resource_link"; "" is nothing. A structuredContent that a text repeats counts as
// that text.
func Unsaved(method string, result json.RawMessage) string {
	blocks := resultBlocks(method, result)
	texts, media := split(blocks)
	var structured json.RawMessage
	if members, err := jsonraw.Object(result); err == nil && method == "tools/call" {
		structured, _ = members.Get("structuredContent")
	}
	asJSON := len(texts)+len(media) == 0
	if asJSON && structured == nil {
		return "" // the JSON is whole
	}
	var kinds []string
	count := map[string]int{}
	for _, b := range blocks {
		isText := b.kind == textBlock
		if isText && (len(media) != 1 || strings.TrimSpace(b.wholeText()) == "") || b.kind == mediaBlock && len(media) == 1 {
			continue
		}
		kind := term.Line(cmp.Or(b.name, "resource"))
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", count[kind], kind)
	}
	if structured != nil && !asJSON && string(jsonraw.Compact(structured)) != "{}" && !repeatedIn(blocks, structured) {
		kinds = append(kinds, "structuredContent")
	}
	return strings.Join(kinds, ", ")
}

func decoded(b block) ([]byte, error) {
	data, err := decodeBase64(b.data)
	if err != nil {
		return nil, &PayloadError{true, fmt.Sprintf("decoding %s: %v", b.path, err), wire.Hint("--jq '" + b.path + "' prints the text unchanged")}
	}
	return data, nil
}

// A PayloadError says why -o has nothing to save. Broken is set where the
// result is at fault, and not what was asked of it.
type PayloadError struct {
	Broken bool
	Text   string
	Hint   wire.Hint
}

func (e *PayloadError) Error() string { return e.Text }

// jsonPayload is a tool's structured content, or else the whole result.
func jsonPayload(method string, result json.RawMessage) ([]byte, string, error) {
	raw := result
	if members, err := jsonraw.Object(result); err == nil && method == "tools/call" {
		if structured, ok := members.Get("structuredContent"); ok {
			raw = structured
		}
	}
	data := append(raw[:len(raw):len(raw)], '\n')
	return data, "JSON, " + term.Size(len(data)), nil
}

// resultBlocks are all blocks of a result that has some.
func resultBlocks(method string, result json.RawMessage) []block {
	members, _ := jsonraw.Object(result)
	list := func(name string) []json.RawMessage {
		raw, _ := members.Get(name)
		items, _ := jsonraw.Array(raw)
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

// split gives the texts that are not blank and the blocks of bytes.
func split(blocks []block) (texts []string, media []block) {
	for _, b := range blocks {
		switch {
		case b.kind == textBlock:
			if text := b.wholeText(); strings.TrimSpace(text) != "" {
				texts = append(texts, text)
			}
		case b.kind == mediaBlock:
			media = append(media, b)
		}
	}
	return texts, media
}

// saveHint is the flag that saves the one binary block, where Payload would.
func saveHint(blocks []block) string {
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

// joinLines keeps a single text as it is, a file's bytes for instance, and
// closes each of several by a line end.
func joinLines(texts []string) []byte {
	if len(texts) == 1 {
		return []byte(texts[0])
	}
	var all []byte
	for _, text := range texts {
		all = append(all, text...)
		if !strings.HasSuffix(text, "\n") {
			all = append(all, '\n')
		}
	}
	return all
}
