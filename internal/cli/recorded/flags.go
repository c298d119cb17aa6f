package recorded

import (
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

// Revision returns the protocol revision of the conversation, or the requested one if the server
// refused the handshake.
func (r Request) Revision() string {
	if r.Row.Method != "initialize" || r.Row.Revision != "" {
		return r.Row.Revision
	}
	if revision := r.head().Field("Mcp-Protocol-Version"); revision != "" {
		return revision
	}
	params, _ := jsonraw.Object(r.Params())
	return params.Text("protocolVersion")
}

// AppendCommandWords appends the words of the mcpc command that sends the request, and returns its
// last argument. The command is call if that can express the whole request, else raw.
func (r Request) AppendCommandWords(s *traffic.Script, words []string) ([]string, []byte) {
	m := wire.ParseMessage(r.Exchange.Request.Raw)
	params := r.Params()
	name, arguments, isSimple := asToolCall(m.Method, params)
	isOfRaw := r.Row.IsMain && r.HadWord("raw") // the request that the user typed
	if m.Method == "initialize" && !isOfRaw {
		return append(words, "info"), nil // raw would send initialize twice
	}
	if isSimple && !strings.HasPrefix(name, "-") && !r.HadWord("raw") {
		words = append(words, "call")
		if r.HadWord("--no-validate") || !r.HadWord("call") { // only call has checked the arguments
			words = append(words, "--no-validate")
		}
		if r.HadWord("--yes") || r.HadWord("-y") {
			words = append(words, "--yes")
		}
		return append(words, s.Word(name, "name")), arguments
	}
	// The words of raw cannot express a method like a flag, no method, or params that are no object.
	_, err := jsonraw.Object(params)
	hasOddParams := params != nil && err != nil
	if strings.HasPrefix(m.Method, "-") || m.Method == "" || hasOddParams {
		return append(words, "raw", "--bytes"), m.Raw
	}
	return append(words, "raw", s.Word(m.Method, "method")), params
}

// HadWord reports whether the recorded mcpc command line contains a word, before any "--".
func (r Request) HadWord(word string) bool {
	return r.Row.By == capture.ByCommand && slices.Contains(r.ownArgv(), word)
}

// ownArgv returns the recorded command line without the server's command.
func (r Request) ownArgv() []string { return cmdutil.BeforeDashes(r.Row.Head().Argv) }

// UserFields returns the header fields that the user added.
func (r Request) UserFields() []wire.Field {
	head := r.head()
	if head == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(head.Fields), func(f wire.Field) bool {
		name := strings.ToLower(f.Name)
		isFromNode := name == "accept-language" && f.Value == "*" // Node's fetch adds it
		isOfProtocol := strings.HasPrefix(name, "mcp-")
		return slices.Contains(clientFields, name) || traffic.ConnectionFields[name] || isOfProtocol || isFromNode
	})
}

// MirrorFields returns the header fields that repeat a part of the message (2026-07-28
// basic/transports/streamable-http, "Standard headers").
func MirrorFields(r Request) []wire.Field {
	var fields []wire.Field
	if head := r.head(); head != nil {
		for _, f := range head.Fields {
			name := strings.ToLower(f.Name)
			if name == "mcp-method" || name == "mcp-name" || strings.HasPrefix(name, "mcp-param-") {
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// answerFlags returns the flags of the recorded command line that answer server requests, as a flag
// set and as answers.
func (r Request) answerFlags() (*pflag.FlagSet, host.Answers) {
	f := &cmdutil.Factory{}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.ParseErrorsWhitelist.UnknownFlags = true
	f.AddAnswering(flags)
	if r.Row.By == capture.ByCommand {
		_ = flags.Parse(r.ownArgv()) // the recorded command has parsed it before
	}
	return flags, f.Answers
}

// RecordedAnswers returns how the recorded command answered server requests.
func (r Request) RecordedAnswers() host.Answers {
	_, flags := r.answerFlags()
	return flags
}

// AnswerFlagWords returns the words of the flags that answer server requests.
func (r Request) AnswerFlagWords(s *traffic.Script) []string {
	if r.Row.Method == "initialize" {
		return nil
	}
	flags, _ := r.answerFlags()
	var words []string
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

// clientFields are the header fields that every client sets itself, or that belong to one stream.
var clientFields = []string{
	"accept", "accept-encoding", "content-type", "last-event-id", "sec-fetch-mode", "user-agent",
}
