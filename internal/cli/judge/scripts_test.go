package judge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"mcpc/internal/pause"
	"mcpc/internal/tests/clitest"
)

func TestMain(m *testing.M) {
	clitest.Main(m, map[string]func(){
		"honest": func() { (&testClient{roots: `"result":{"roots":[]}`, form: `"result":{"action":"decline"}`}).run() },
		// lying declares roots and does not have them, and never responds to an elicitation.
		"lying":    func() { (&testClient{roots: `"error":{"code":-32601,"message":"no"}`}).run() },
		"crashing": func() { (&testClient{crashesAt: "large-result"}).run() },
		"hanging":  func() { _ = pause.For(context.Background(), time.Hour) },
	})
}

func TestScripts(t *testing.T) { clitest.Scripts(t) }

// A testClient is a client over stdio that declares roots and elicitation.
type testClient struct {
	// roots and form are the members of its responses to roots/list and elicitation/create; it does not
	// respond if they are "".
	roots, form string
	// crashesAt is the tool whose result crashes it.
	crashesAt string

	in  io.Writer
	out *bufio.Reader
	ids int
}

// run starts the server that the arguments name, and calls each tool of the first page.
func (c *testClient) run() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c.in = in
	c.out = bufio.NewReaderSize(out, 1<<22)
	c.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"elicitation":{}},`+
		`"clientInfo":{"name":"`+os.Getenv("CLIENT_NAME")+`","version":"1"}}`)
	_, _ = fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(c.request("tools/list", `{}`), &list); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, tool := range list.Tools {
		c.request("tools/call", `{"name":"`+tool.Name+`","arguments":{}}`)
		if tool.Name == c.crashesAt {
			fmt.Fprintln(os.Stderr, "panic: \x1b[31mtoo large")
			os.Exit(3)
		}
	}
	in.Close()
	_ = cmd.Wait()
}

// request sends a request and returns its result. Meanwhile, it responds to requests of the server.
func (c *testClient) request(method, params string) json.RawMessage {
	c.ids++
	_, _ = fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", c.ids, method, params)
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			fmt.Fprintln(os.Stderr, "the server has ended")
			os.Exit(1)
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
		}
		_ = json.Unmarshal(line, &m)
		if m.Method == "" && string(m.ID) == fmt.Sprint(c.ids) {
			return m.Result
		}
		if m.Method == "" || m.ID == nil {
			continue
		}
		response := map[string]string{
			"ping": `"result":{}`, "roots/list": c.roots, "elicitation/create": c.form,
			"judge/unknown": `"error":{"code":-32601,"message":"no"}`,
		}[m.Method]
		if response != "" {
			_, _ = fmt.Fprintln(c.in, strings.Join([]string{`{"jsonrpc":"2.0","id":`, string(m.ID), `,`, response, `}`}, ""))
		}
	}
}
