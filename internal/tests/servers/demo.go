package servers

import (
	"fmt"
	"net/http"
	"time"

	"mcpc/internal/demo"
)

// Demo returns the handler that `mcpc demo` with the flags serves: Streamable HTTP at /mcp and
// HTTP+SSE at /sse, or with --auth a server that requires a token. It returns an error for flags
// that concern the process, such as --stdio, --listen and --fault.
func Demo(flags ...string) (http.Handler, error) {
	options := demo.Options{Now: time.Now}
	protected := false
	for _, flag := range flags {
		switch flag {
		case "--stateless":
			options.Stateless = true
		case "--json-answers":
			options.JSON = true
		case "--broken-skills":
			options.BrokenSkills = true
		case "--tasks":
			options.Tasks = true
		case "--auth":
			protected = true
		default:
			return nil, fmt.Errorf("the demo server of tests has no flag %q", flag)
		}
	}
	streamable := demo.Handler(options)
	if protected {
		return demo.Protect(streamable, time.Now), nil
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamable)
	mux.Handle("/sse", demo.SSEHandler(options))
	return mux, nil
}
