package clienttable

import (
	"bytes"
	"fmt"
	"html"

	"mcpc/internal/capture/clients"
)

// pageHead begins a page. The page loads nothing and runs nothing.
const pageHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>MCP clients</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.4 system-ui, sans-serif; margin: min(2rem, 4vw); }
table { border-collapse: separate; border-spacing: 0; }
th, td { border: solid #8886; border-width: 0 1px 1px 0; padding: .3rem .6rem; text-align: left; vertical-align: top; }
th, td { overflow-wrap: anywhere; }
thead th { position: sticky; top: 0; background: Canvas; }
tbody th, thead th:first-child { position: sticky; left: 0; background: Canvas; }
thead th:first-child { z-index: 1; }
tbody th { font-weight: normal; min-width: min(16rem, 30vw); }
td { min-width: 11rem; }
code, small, .unseen { color: light-dark(#666, #aaa); }
.good { background: #2a72; }
.bad { background: #d333; }
</style>
</head>
<body>
<h1>MCP clients</h1>
`

// Page returns an HTML page with the table. Its cells have the exchanges that prove them.
func Page(all []*clients.Client) []byte {
	var b bytes.Buffer
	b.WriteString(pageHead + "<table>\n<thead><tr><th></th>")
	for _, c := range all {
		fmt.Fprintf(&b, "<th>%s<br><small>%s</small></th>", html.EscapeString(clientTitle(c)), html.EscapeString(c.Transport))
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, fact := range clients.Facts {
		fmt.Fprintf(&b, "<tr><th>%s<br><code>%s</code></th>", html.EscapeString(fact.Question), fact.Name)
		for _, c := range all {
			writePageCell(&b, c, fact)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table>\n</body>\n</html>\n")
	return b.Bytes()
}

// writePageCell writes the values of a client's fact.
func writePageCell(b *bytes.Buffer, c *clients.Client, fact clients.Fact) {
	class := "unseen"
	for _, f := range c.Facts {
		if f.Name != fact.Name || !f.IsSeen() {
			continue
		}
		if f.IsBad() {
			class = "bad"
			break
		}
		if f.IsGood() {
			class = "good"
		} else if class == "unseen" {
			class = "other"
		}
	}
	fmt.Fprintf(b, `<td class="%s">`, class)
	for i, text := range valuesOf(c, fact) {
		if i > 0 {
			b.WriteString("<br>")
		}
		b.WriteString(html.EscapeString(text))
	}
	b.WriteString("</td>")
}
