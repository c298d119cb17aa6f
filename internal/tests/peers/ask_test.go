//go:build peers

package peers

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/client"
)

// A peerContent is the other content of a peer besides its tools, with its responses.
type peerContent struct {
	prompts, resources, templates int
	// read is a resource and the text in it, prompt the words after `mcpc prompt` and the returned
	// text, missing a prompt that requires an argument.
	read, prompt []string
	missing      string
	// complete are the words after `mcpc complete`, and the returned value; nil if the peer
	// completes nothing.
	complete []string
}

// contentOf returns nil if the peer has only tools.
func contentOf(p peer) *peerContent {
	switch {
	case strings.HasPrefix(p.name, "everything"):
		return &peerContent{
			4, 7, 2,
			[]string{"demo://resource/dynamic/text/{resourceId}", "resourceId=3", "Resource 3: This is a plaintext resource"},
			[]string{"args-prompt", "city=Paris", "What's weather in Paris?"},
			"args-prompt",
			[]string{"prompt", "completable-prompt", "name", "", "department=Sales", "Eve"},
		}
	case strings.HasPrefix(p.name, "go-sdk"), strings.HasPrefix(p.name, "mcp-go"), strings.HasPrefix(p.name, "ts-server"):
		content := &peerContent{1, 1, 0, []string{"peer://note", "a note"}, []string{"greeting", "name=Ada", "Greet Ada."}, "greeting", nil}
		if strings.HasPrefix(p.name, "go-sdk") {
			content.complete = []string{"prompt", "greeting", "name", "Al", "Alan"}
		}
		return content
	}
	return nil
}

// TestPeersAreAsked runs every command that asks a server for something beside
// its tools, against every peer, in its newest revision and in the newest one
// with a handshake.
func TestPeersAreAsked(t *testing.T) {
	t.Parallel()
	for _, p := range peers(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			target := p.shared(t)
			for _, revision := range erasOf(p) {
				t.Run(revision, func(t *testing.T) {
					m := newRunner(t)
					ask := func(code int, words ...string) ran {
						t.Helper()
						return newRunner(t).want(code, with(target, append(words, "--protocol", revision)...)...)
					}
					if p.transport == "stdio" && !filepath.IsAbs(p.argv[0]) {
						// Node takes so long to start that it does so once.
						m.want(0, initWith(target, "--keep", "--as", "kept", "--protocol", revision)...)
						t.Cleanup(func() { m.run("close", "--all") })
						ask = func(code int, words ...string) ran {
							t.Helper()
							return m.want(code, append(words, "-s", "kept")...)
						}
					}
					if got := ask(0, "info").stdout; !strings.Contains(got, "\nprotocol\t"+revision) || !strings.Contains(got, "capability\ttools\t") {
						t.Errorf("info:\n%s", got)
					}
					if strings.HasPrefix(p.name, "pingme") {
						ask(6, "ping") // it does not implement ping, whatever its name
					} else if got := ask(0, "ping").stdout; !strings.Contains(got, " answered ") {
						t.Errorf("ping: %q", got)
					}
					if content := contentOf(p); content != nil {
						content.check(t, ask)
					} else if got := ask(0, "list", "all").stdout; strings.Count(got, "tool\t") != p.tools {
						t.Errorf("list all:\n%s", got)
					}
				})
			}
		})
	}
}

// erasOf returns a revision of a peer for each of its eras.
func erasOf(p peer) []string {
	eras := []string{p.newest}
	if client.Stateless(p.newest) {
		older := slices.IndexFunc(client.Revisions(), func(r string) bool { return !client.Stateless(r) })
		eras = append(eras, client.Revisions()[older])
	}
	return eras
}

func (c peerContent) check(t *testing.T, ask func(int, ...string) ran) {
	t.Helper()
	for kind, want := range map[string]int{"prompts": c.prompts, "resources": c.resources, "templates": c.templates} {
		if got := strings.Count(ask(0, "list", kind).stdout, "\n"); got != want {
			t.Errorf("listed %d %s, want %d", got, kind, want)
		}
	}
	var all map[string][]any
	mustUnmarshal(t, ask(0, "list", "all", "--json").stdout, &all)
	if len(all["prompts"]) != c.prompts || len(all["resources"]) != c.resources || len(all["tools"]) == 0 {
		t.Errorf("list all has %d prompts, %d resources, %d tools", len(all["prompts"]), len(all["resources"]), len(all["tools"]))
	}
	c.says(t, ask, "read", c.read)
	c.says(t, ask, "prompt", c.prompt)
	if got := ask(3, "prompt", c.missing).stderr; !strings.Contains(got, "is required and missing") {
		t.Errorf("prompt without its argument: %s", got)
	}
	got := ask(6, "read", "absent:nothing").stderr
	if !strings.Contains(got, " list resources") || !strings.Contains(got, " lists the available ones") {
		t.Errorf("read of what is not there: %s", got)
	}
	if c.complete != nil {
		c.says(t, ask, "complete", c.complete)
	} else if got := ask(6, "complete", "prompt", c.missing, "name").stderr; !strings.Contains(got, "the server does not declare completions") {
		t.Errorf("complete: %s", got)
	}
}

// says asks with all words except the last, which the answer must contain.
func (c peerContent) says(t *testing.T, ask func(int, ...string) ran, command string, words []string) {
	t.Helper()
	last := len(words) - 1
	if got := ask(0, append([]string{command}, words[:last]...)...).stdout; !strings.Contains(got, words[last]) {
		t.Errorf("mcpc %s %q gave %q, want %q in it", command, words[:last], got, words[last])
	}
}
