// Command go-sdk is a peer on the official Go SDK. Without -port it speaks on
// stdio; with it, it serves http://127.0.0.1:PORT/mcp in one of these modes:
//
//	stateful   sessions, SSE answers
//	events     sessions with an event store, so that cut streams resume
//	json       sessions, JSON answers
//	stateless  no sessions: the only mode that speaks 2026-07-28 over HTTP
//	sse        the HTTP+SSE transport of 2024-11-05, with a ping to the client
//	           every two seconds; it ends if there is no answer within a second
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pageSize makes three pages of tools/list. The last page is shorter.
const pageSize = 4

func main() {
	port := flag.Int("port", 0, "port on 127.0.0.1; 0 speaks on stdio")
	mode := flag.String("mode", "stateful", "stateful, events, json, stateless or sse")
	flag.Parse()

	if err := serve(newServer(*mode), *port, *mode); err != nil {
		log.Fatal(err)
	}
}

func serve(server *mcp.Server, port int, mode string) error {
	if port == 0 {
		return server.Run(context.Background(), &mcp.StdioTransport{})
	}
	handler, err := newHandler(server, mode)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	return http.ListenAndServe(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), mux)
}

func newServer(mode string) *mcp.Server {
	var ping time.Duration
	if mode == "sse" {
		ping = 2 * time.Second
	}
	accept := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	release := func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	server := mcp.NewServer(
		&mcp.Implementation{Name: "peer-go-sdk", Version: "1.8.0"},
		&mcp.ServerOptions{
			Instructions:       "A peer for tests.",
			PageSize:           pageSize,
			SubscribeHandler:   accept,
			UnsubscribeHandler: release,
			CompletionHandler:  complete,
			KeepAlive:          ping,
		})
	addTools(server)
	addNote(server)
	addGreeting(server)
	return server
}

// complete returns the matching names of two names.
func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	result := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	for _, name := range []string{"Ada", "Alan"} {
		if strings.HasPrefix(name, req.Params.Argument.Value) {
			result.Completion.Values = append(result.Completion.Values, name)
		}
	}
	return result, nil
}

func newHandler(server *mcp.Server, mode string) (http.Handler, error) {
	get := func(*http.Request) *mcp.Server { return server }
	switch mode {
	case "stateful":
		return mcp.NewStreamableHTTPHandler(get, nil), nil
	case "events":
		return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}), nil
	case "json":
		return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{JSONResponse: true}), nil
	case "stateless":
		return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true}), nil
	case "sse":
		return mcp.NewSSEHandler(get, nil), nil
	default:
		return nil, fmt.Errorf("no such mode: %s", mode)
	}
}
