package samples

import (
	"fmt"
	"strings"

	"mcpc/internal/jsonraw"
)

// HostileText is the text in every place of a hostile recording: escape sequences, control bytes, and a
// line that a shell or Markdown would interpret.
const HostileText = "evil\x1b[2J\x1b]0;t\x07\rEVIL\u202e\u009b31m\n```\n$(touch OWNED)`touch OWNED`'; touch OWNED; '\"\n# x"

func quotedHostileText() string { return string(jsonraw.Quote(HostileText)) }

// HostileCaptures returns recordings by name. With any of them, each command must exit as
// documented, print no control sequence, and export no code that runs.
func HostileCaptures() map[string]string {
	e := quotedHostileText()
	head := `{"mcpc-traffic":1,"mcpc":` + e + `,"started":"2026-01-01T00:00:00Z","target":` + e + `,"argv":["mcpc",` + e + `,"--",` + e + `],"by":"command","of":` + e + "}\n"
	frame := func(n int, dir, kind, more string) string {
		return fmt.Sprintf(`{"seq":%d,"time":"2026-01-01T00:00:0%d.5Z","dir":%q,"kind":%q%s}`+"\n", n, n%10, dir, kind, more)
	}
	raw := func(text string) string { return `,"raw":` + string(jsonraw.Quote(text)) }
	call := `{"jsonrpc":"2.0","id":` + e + `,"method":` + e + `,"params":{"name":` + e + `,"arguments":{` + e + `:` + e + `}}}`
	answer := `{"jsonrpc":"2.0","id":` + e + `,"result":{"content":[{"type":"text","text":` + e + `}],` + e + `:1}}`
	heads := `,"stream":1,"http":{"proto":` + e + `,"method":` + e + `,"url":` + e + `,"fields":[[` + e + `,` + e + `],["@/etc/passwd","x"],["X-A\nB","y"],["X",` + e + `]]}`
	answered := `,"stream":1,"http":{"proto":"HTTP/1.1","status":-7,"fields":[["Content-Type",` + e + `]],"timing":{"firstByte":-5000,"dns":-1,"connect":-9223372036854775808,"tls":1}}`
	tail := `{"end":{"exit":99999,"kind":` + e + `,"method":` + e + `,"name":` + e + `,"took":-5,"text":` + e + `,"hint":` + e + `,"findings":[{"rule":` + e + `,"level":"x","where":` + e + `,"text":` + e + `,"want":` + e + `,"got":` + e + `}]}}` + "\n"
	deep := strings.Repeat("[", 100_000)
	return map[string]string{
		"everywhere": head + frame(1, "sent", "head", heads) + frame(2, "sent", "body", `,"stream":1`+raw(call)) + frame(3, "received", "head", answered) +
			frame(4, "received", "event", `,"stream":1,"sse":{"event":`+e+`,"id":`+e+`,"retry":-1}`+raw(answer)) +
			frame(5, "received", "closed", `,"stream":1,"close":{"by":"received","how":`+e+`,"text":`+e+`}`) + tail,
		"http": head + frame(1, "sent", "head", strings.Replace(heads, `"method":`+e+`,"url":`+e, `"method":"POST","url":"http://127.0.0.1:1/`+"$(touch OWNED)'[1-9]"+`"`, 1)) +
			frame(2, "sent", "body", `,"stream":1`+raw(call)) + frame(3, "received", "body", `,"stream":1`+raw(answer)) + tail,
		"stdio": head + frame(1, "sent", "body", raw(call)) + frame(2, "received", "stderr", raw(HostileText)) + frame(3, "received", "noise", raw(HostileText)) +
			frame(4, "received", "body", raw(answer)) + tail,
		"deep": head + frame(1, "sent", "body", raw(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":`+deep+`}}`)) +
			frame(2, "sent", "body", raw(`{"jsonrpc":"2.0","id":2,"method":"x","params":{}}`)) + frame(3, "received", "body", raw(deep)) +
			`{"kind":` + deep + "\n" + `{"end":` + deep + "\n",
		"ten heads":    strings.Repeat(head, 10) + frame(1, "sent", "body", raw(call)) + strings.Repeat(head, 3) + frame(1, "sent", "body", raw(call)) + tail + tail,
		"wrong types":  head + `{"seq":"x","time":7,"dir":"sent","kind":"body","stream":-3,"conn":1e9,"http":[],"sse":3,"close":"x","hidden":-1,"size":-99,"raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}"}` + "\n" + `{"dir":"sent","kind":"head","http":null}` + "\n" + `{"dir":"received","kind":"closed","close":null}` + "\n" + `{"dir":"received","kind":"event","sse":null,"raw":7}` + "\n[]\n7\nnull\n\"x\"\n{}\n" + `{"end":7}` + "\n" + `{"lost":-1}` + "\n" + `{"dir":"sent","kind":"body","raw64":"///"}` + "\n",
		"times":        head + frame(9, "sent", "body", raw(call)) + frame(1, "received", "body", raw(answer)) + strings.Replace(tail, `"took":-5`, `"took":-9223372036854775808,"time":"9999-12-31T23:59:59Z"`, 1),
		"huge line":    head + frame(1, "sent", "body", raw(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":"`+strings.Repeat("é", 1<<20)+`"}}}`)) + frame(2, "received", "body", `,"raw64":"`+strings.Repeat("/", 1<<20)+`"`),
		"no time":      head + `{"dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"-rf\",\"arguments\":null}}"}` + "\n" + `{"dir":"received","kind":"body","raw64":"//4A"}` + "\n",
		"torn":         head + frame(1, "sent", "body", raw(call)) + `{"seq":2,"dir":"received","kind":"body","raw":"{`,
		"only a head":  head,
		"batch":        head + frame(1, "sent", "body", raw(`[`+call+`,{"jsonrpc":"2.0","id":2,"method":"y"},7]`)) + frame(2, "received", "body", raw(`[{"jsonrpc":"2.0","id":2,"error":{"code":9e99,"message":`+e+`}}]`)),
		"other format": "hello\n",
		"a version":    `{"mcpc-traffic":2}` + "\n",
		"no date":      strings.Replace(head, "2026-01-01", "x", 1),
		"empty":        "",
	}
}
