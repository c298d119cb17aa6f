package clitest

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// runRepeating runs the program repeating: a server over stdio that repeats a word in all definitions
// and results. The word is the variable DB_PASSWORD, or the user or password in the URL that is its
// argument.
func runRepeating() {
	word := os.Getenv("DB_PASSWORD")
	place := "postgres://app:WORD@h/t"
	if len(os.Args) > 1 {
		u, err := url.Parse(os.Args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		password, ok := u.User.Password()
		word = password
		if !ok {
			word = u.User.Username()
			place = "postgres://WORD@h/t"
		}
	}
	quoted := func(form string) string { return string(jsonraw.Quote(strings.ReplaceAll(form, "WORD", word))) }
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":` + quoted("WORD-mcp") + `,"version":"1"},"instructions":` + quoted("use WORD") + `}`,
		"ping":       `{}`,
		"tools/list": `{"tools":[{"name":` + quoted("WORD_query") + `,"title":"Query","description":` + quoted("Runs SQL on WORD") + `,"annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{` +
			`"sql":{"type":"string","description":"SQL"},` + quoted("WORD_schema") + `:{"type":"string","description":"x","enum":["a",` + quoted("WORD") + `]}},"required":["sql"]},` +
			`"outputSchema":{"type":"object","properties":{"at":{"type":"string","enum":[` + quoted("WORD") + `]}}}}]}`,
		"resources/list":           `{"resources":[{"uri":` + quoted(place) + `,"name":"t"}]}`,
		"resources/templates/list": `{"resourceTemplates":[]}`,
		"tools/call":               `{"content":[{"type":"text","text":` + quoted("rows of WORD from "+place) + `}],"structuredContent":{"at":` + quoted("WORD") + `}}`,
	}
	if os.Getenv("NO_PING") != "" {
		delete(results, "ping")
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		m := wire.ParseMessage(in.Bytes())
		result, ok := results[m.Method]
		if m.Kind != wire.Request {
			continue
		}
		if ok {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		} else {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		}
	}
}
