package bundle

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"strings"
)

// The page of a bundle: read only, and alone. Its policy allows one script and one style, by
// their hashes, and no request at all.
var (
	//go:embed page/index.html
	pageHTML string
	//go:embed page/page.js
	pageScript string
	//go:embed page/page.css
	pageStyle string
)

// pageEnds hides from a browser what follows the page in the file.
const pageEnds = "<plaintext hidden>"

// pageOf is the page that shows data: texts that follow each other.
func pageOf(data []byte) [][]byte {
	text := strings.NewReplacer("{{style-hash}}", hashOf(pageStyle), "{{script-hash}}", hashOf(pageScript),
		"{{style}}", pageStyle, "{{script}}", pageScript).Replace(pageHTML)
	before, after, _ := strings.Cut(strings.TrimRight(text, "\n"), "{{data}}")
	safe := bytes.ReplaceAll(data, []byte("<"), []byte(`\u003c`)) // no text in it ends the element, or begins a comment
	return [][]byte{[]byte(before), safe, []byte(after)}
}

// WritePage writes the page of a bundle without the archive.
func WritePage(w io.Writer, c Content) error {
	_, err := io.Copy(w, readerOf(pageOf(c.Data)...)())
	return err
}

// hashOf is that of a script or a style for the page's policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
