package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/trace"
	"mcpc/internal/wire"
)

// addLine writes the mcpc command that asks the same.
func addLine(s *render.Script, g again) error {
	switch {
	case g.unasked() != nil:
		return g.unasked()
	case g.bare():
		return &render.Unscriptable{Text: "it contains no JSON-RPC request"}
	}
	words := []string{"mcpc"}
	if revision := g.revision(); slices.Contains(client.Revisions(), revision) {
		words = append(words, "--protocol", revision)
	}
	var argv []string
	switch address := g.address(); {
	case isAddress(address):
		words = append(words, "-s", s.URL(address))
	case address != "":
		words = append(words, "-s", s.Word(address, "server"))
	case g.serverArgv() != nil:
		argv = []string{"--", s.Argv(g.serverArgv())}
	default:
		return &render.Unscriptable{Text: "the recording does not name the server"}
	}
	for _, f := range g.ownFields() {
		if field := s.Field(f); field != "" {
			words = append(words, "-H", field)
		}
	}
	words, input := g.request(s, words)
	words = append(words, g.answerWords(s)...)
	s.Run(words, input, argv...)
	return nil
}

// revision is that of the conversation; of a handshake that was refused the one in
// which it was asked for.
func (g again) revision() string {
	if g.row.Method != "initialize" || g.row.Revision != "" {
		return g.row.Revision
	}
	params, _ := wire.Object(g.params())
	return cmp.Or(g.head().Field("Mcp-Protocol-Version"), params.Text("protocolVersion"))
}

// request adds the words of the command that sends the request, and gives its last
// one: call where that can say all of it, else raw.
func (g again) request(s *render.Script, words []string) ([]string, []byte) {
	m, params := wire.ParseMessage(g.exchange.Request.Raw), g.params()
	name, arguments, simple := asToolCall(m.Method, params)
	_, notObject := wire.Object(params)
	switch {
	case m.Method == "initialize" && !(g.row.Own && g.had("raw")):
		return append(words, "info"), nil // raw would open a conversation first, and then ask for one
	case simple && !strings.HasPrefix(name, "-") && !g.had("raw"):
		words = append(words, "call")
		if g.had("--no-validate") || !g.had("call") { // nobody else checks what he sends
			words = append(words, "--no-validate")
		}
		if g.had("--yes") || g.had("-y") {
			words = append(words, "--yes")
		}
		return append(words, s.Word(name, "name")), arguments
	case strings.HasPrefix(m.Method, "-") || m.Method == "" || params != nil && notObject != nil:
		return append(words, "raw", "--bytes"), m.Raw
	}
	return append(words, "raw", s.Word(m.Method, "method")), params
}

// had reports whether the recorded command line had this word for mcpc itself.
func (g again) had(word string) bool {
	return g.row.By == trace.ByCommand && slices.Contains(g.ownArgv(), word)
}

// ownArgv is the recorded command line without a server's command.
func (g again) ownArgv() []string { return beforeDashes(g.row.Head().Argv) }

// clientFields are the header fields that mcpc writes by itself, or that are about
// one stream.
var clientFields = []string{"accept", "accept-encoding", "content-type", "last-event-id", "sec-fetch-mode", "user-agent"}

// ownFields are the header fields that the user had given.
func (g again) ownFields() []wire.Field {
	head := g.head()
	if head == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(head.Fields), func(f wire.Field) bool {
		name := strings.ToLower(f.Name)
		return slices.Contains(clientFields, name) || render.OfConnection[name] || strings.HasPrefix(name, "mcp-")
	})
}

// answerFlags are the flags of the recorded command line that say how to answer what the
// server asks.
func (g again) answerFlags() (*pflag.FlagSet, answering) {
	a, f := &app{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags, f.ParseErrorsWhitelist.UnknownFlags = false, true
	a.addAnswering(f)
	if g.row.By == trace.ByCommand {
		_ = f.Parse(g.ownArgv()) // it was parsed once, by the command
	}
	return f, a.answers
}

func (g again) answering() answering {
	_, flags := g.answerFlags()
	return flags
}

// answerWords are those flags again, where the command has them.
func (g again) answerWords(s *render.Script) (words []string) {
	if g.row.Method == "initialize" {
		return nil
	}
	flags, _ := g.answerFlags()
	flags.Visit(func(f *pflag.Flag) {
		for _, text := range flagValues(f) {
			switch {
			case f.Value.Type() != "bool":
				words = append(words, "--"+f.Name, s.Word(text, f.Name))
			case text == "true":
				words = append(words, "--"+f.Name)
			}
		}
	})
	return words
}

// serverIn is what a server said that it is, when the conversation was opened;
// "" where that is not in the capture.
func serverIn(c *trace.Capture, row *trace.Row) string {
	for _, opening := range c.Rows() {
		if !slices.Contains(opens, opening.Method) || opening.Channel != trace.ChannelOK || !opening.SameRun(row) {
			continue
		}
		if x, err := opening.Exchange(); err == nil && x != nil {
			if name := serverInfoIn(x.Response.Raw); name != "" {
				return name
			}
		}
	}
	if x, err := row.Exchange(); err == nil && x != nil {
		return serverInfoIn(x.Response.Raw)
	}
	return ""
}

// serverInfoIn reads serverInfo, which stands in a result or in its _meta.
func serverInfoIn(response []byte) string {
	result, err := wire.ParseMessage(response).ResultMembers()
	if err != nil {
		return ""
	}
	raw, ok := result.Get("serverInfo")
	if !ok {
		meta, _ := result.Get("_meta")
		raw = wire.First(meta, "io.modelcontextprotocol/serverInfo")
	}
	info, _ := wire.Object(raw)
	return strings.TrimSpace(info.Text("name") + " " + info.Text("version"))
}
