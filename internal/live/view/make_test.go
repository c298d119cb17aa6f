package view_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// made writes a capture of short lines: "MS > BODY" is a message of the client over a pipe, "MS <
// BODY" a message of the server, "MS ! TEXT" a line on stderr. "MS > 2 BODY" is a message on stream
// 2, "MS > 2 POST", "DELETE" or "GET ID" the head of a request, "MS < 2 200 TYPE" the head of a
// response, "MS < 2 #ID BODY" an event, and "MS < 2 cut TEXT" or "end" the end of a stream, and "MS
// > held ID HOW MILLISECONDS BODY" means that a request was held, with "<" the response. "@N"
// before all is a connection, "end" alone the end of the recording.
func made(t testing.TB, text string) string {
	t.Helper()
	began := now.Add(-time.Hour)
	lines := []string{`{"mcpc-traffic":1,"mcpc":"test","started":"` + began.Format(time.RFC3339Nano) + `","target":"https://example.com/mcp","by":"proxy"}`}
	seq := 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		switch line {
		case "":
			continue
		case "end":
			lines = append(lines, `{"end":{"exit":0}}`)
			continue
		}
		seq++
		lines = append(lines, frameLine(t, seq, began, line))
	}
	path := filepath.Join(t.TempDir(), "made.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func frameLine(t testing.TB, seq int, began time.Time, line string) string {
	t.Helper()
	frame := map[string]any{"seq": seq, "kind": "body"}
	if conn, rest, ok := strings.Cut(line, " "); ok && strings.HasPrefix(conn, "@") {
		frame["conn"], _ = strconv.Atoi(conn[1:])
		line = rest
	}
	var ms int
	var dir string
	if _, err := fmt.Sscanf(line, "%d %s", &ms, &dir); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	rest := strings.TrimSpace(line[strings.IndexAny(line, "<>!")+1:])
	frame["time"] = began.Add(time.Duration(ms) * time.Millisecond).Format(time.RFC3339Nano)
	frame["dir"] = map[string]string{">": "sent", "<": "received", "!": "received"}[dir]
	if stream, after, ok := strings.Cut(rest, " "); ok {
		if n, err := strconv.Atoi(stream); err == nil {
			frame["stream"], rest = n, after
		}
	}
	word, after, _ := strings.Cut(rest, " ")
	switch {
	case dir == "!":
		frame["kind"], frame["raw"] = "stderr", rest
	case word == "held":
		words := append(strings.SplitN(after, " ", 4), "", "")
		n, _ := strconv.Atoi(words[2])
		frame["kind"], frame["held"] = "held", map[string]any{"kind": map[string]string{">": "request", "<": "response"}[dir], "id": words[0], "how": words[1], "ms": n}
		if words[3] != "" {
			frame["raw"] = words[3]
		}
	case word == "cut" || word == "end" || word == "exit" || word == "cancelled":
		frame["kind"], frame["close"] = "closed", map[string]any{"by": frame["dir"], "how": word, "text": after}
	case word == "POST" || word == "GET" || word == "DELETE":
		fields := [][2]string{}
		if after != "" {
			fields = append(fields, [2]string{"Last-Event-ID", after})
		}
		frame["kind"], frame["http"] = "head", map[string]any{"proto": "HTTP/1.1", "method": word, "url": "https://example.com/mcp", "fields": fields}
	case len(word) == 3 && word >= "100" && word <= "599":
		status, _ := strconv.Atoi(word)
		frame["kind"], frame["http"] = "head", map[string]any{"proto": "HTTP/1.1", "status": status, "fields": [][2]string{{"Content-Type", after}}, "timing": map[string]int{"connect": 4e6, "tls": 6e6}}
	case strings.HasPrefix(word, "#"):
		frame["kind"], frame["raw"], frame["sse"] = "event", after, map[string]string{"id": word[1:]}
	default:
		frame["raw"] = rest
	}
	raw, err := json.Marshal(frame)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
