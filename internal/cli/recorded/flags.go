package recorded

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/traffic"
	"mcpc/internal/wire"
)

// Revision is that of the conversation; of a handshake that was refused the one in
// which it was asked for.
func (g Request) Revision() string {
	if g.Row.Method != "initialize" || g.Row.Revision != "" {
		return g.Row.Revision
	}
	params, _ := jsonraw.Object(g.Params())
	return cmp.Or(g.head().Field("Mcp-Protocol-Version"), params.Text("protocolVersion"))
}

// Request adds the words of the command that sends the request, and gives its last
// one: call where that can say all of it, else raw.
func (g Request) Request(s *traffic.Script, words []string) ([]string, []byte) {
	m := wire.ParseMessage(g.Exchange.Request.Raw)
	params := g.Params()
	name, arguments, simple := asToolCall(m.Method, params)
	_, notObject := jsonraw.Object(params)
	if m.Method == "initialize" && !(g.Row.Own && g.Had("raw")) {
		return append(words, "info"), nil // raw would open a conversation first, and then ask for one
	}
	if simple && !strings.HasPrefix(name, "-") && !g.Had("raw") {
		words = append(words, "call")
		if g.Had("--no-validate") || !g.Had("call") { // only call is sure to have checked them
			words = append(words, "--no-validate")
		}
		if g.Had("--yes") || g.Had("-y") {
			words = append(words, "--yes")
		}
		return append(words, s.Word(name, "name")), arguments
	}
	if strings.HasPrefix(m.Method, "-") || m.Method == "" || params != nil && notObject != nil {
		return append(words, "raw", "--bytes"), m.Raw
	}
	return append(words, "raw", s.Word(m.Method, "method")), params
}

// Had reports whether the recorded command line had this word for mcpc itself.
func (g Request) Had(word string) bool {
	return g.Row.By == capture.ByCommand && slices.Contains(g.ownArgv(), word)
}

// ownArgv is the recorded command line without a server's command.
func (g Request) ownArgv() []string { return cmdutil.BeforeDashes(g.Row.Head().Argv) }

// OwnFields are the header fields that the user had given.
func (g Request) OwnFields() []wire.Field {
	head := g.head()
	if head == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(head.Fields), func(f wire.Field) bool {
		name := strings.ToLower(f.Name)
		return slices.Contains(clientFields, name) || traffic.ConnectionFields[name] || strings.HasPrefix(name, "mcp-") ||
			name == "accept-language" && f.Value == "*" // from the fetch of Node
	})
}

// MirrorFields are the header fields that repeat a part of the message (2026-07-28
// basic/transports/streamable-http, "Standard headers").
func MirrorFields(g Request) (fields []wire.Field) {
	if head := g.head(); head != nil {
		for _, f := range head.Fields {
			name := strings.ToLower(f.Name)
			if name == "mcp-method" || name == "mcp-name" || strings.HasPrefix(name, "mcp-param-") {
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// answerFlags are the flags of the recorded command line that say how to answer what the
// server asks.
func (g Request) answerFlags() (*pflag.FlagSet, host.Answers) {
	f := &cmdutil.Factory{}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.ParseErrorsWhitelist.UnknownFlags = true
	f.AddAnswering(flags)
	if g.Row.By == capture.ByCommand {
		_ = flags.Parse(g.ownArgv()) // it was parsed once, by the command
	}
	return flags, f.Answers
}

func (g Request) Answering() host.Answers {
	_, flags := g.answerFlags()
	return flags
}

// AnswerWords are those flags again, where the command has them.
func (g Request) AnswerWords(s *traffic.Script) (words []string) {
	if g.Row.Method == "initialize" {
		return nil
	}
	flags, _ := g.answerFlags()
	flags.Visit(func(f *pflag.Flag) {
		for _, text := range cmdutil.FlagValues(f) {
			if f.Value.Type() != "bool" {
				words = append(words, "--"+f.Name, s.Word(text, f.Name))
			} else if text == "true" {
				words = append(words, "--"+f.Name)
			}
		}
	})
	return words
}

// clientFields are the header fields that mcpc writes by itself, or that are about
// one stream.
var clientFields = []string{
	"accept", "accept-encoding", "content-type", "last-event-id", "sec-fetch-mode", "user-agent",
}
