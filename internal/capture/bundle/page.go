package bundle

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"strings"
)

// pageHTML is what is around the page of a bundle: read only, and alone. Its policy allows one
// script and one style, by their hashes, and no request at all.
//
//go:embed page/index.html
var pageHTML string

// pageEnd hides the data after the page from a browser.
const pageEnd = "<plaintext hidden>"

// buildPage returns the page that shows the data, as consecutive texts. The data is an object with
// documents of internal/live/view (view/api.go):
//
//	title          string: the name of the bundle
//	manifest       object: MANIFEST.json of the bundle
//	report         string: REPORT.md
//	notes          string, may be absent: notes.md
//	rows           [Row], oldest first
//	conversations  [Conversation]; Row.talk is Conversation.id
//	blocks         {KEY: [Line]}: the lines of Block for each Row.key; may lack keys
//	details        {KEY: Detail}; may lack keys
//	tools          [Tool]
//	streams        [Stream]
//	hidden         [Secret]; a member called secrets would be taken for one
//	left           string, may be absent: what the page does not show
func buildPage(c Content) [][]byte {
	text := strings.NewReplacer("{{style-hash}}", sourceHash(c.Style), "{{script-hash}}", sourceHash(c.Script),
		"{{style}}", c.Style, "{{script}}", c.Script).Replace(pageHTML)
	before, after, _ := strings.Cut(strings.TrimRight(text, "\n"), "{{data}}")
	safe := bytes.ReplaceAll(c.Data, []byte("<"), []byte(`\u003c`)) // no text in it ends the element, or begins a comment
	return [][]byte{[]byte(before), safe, []byte(after)}
}

// WritePage writes the page of a bundle without the archive.
func WritePage(w io.Writer, c Content) error {
	_, err := io.Copy(w, readerOf(buildPage(c)...)())
	return err
}

// sourceHash returns the hash of a script or a style for the page's policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
