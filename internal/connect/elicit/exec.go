package elicit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"

	"mcpc/internal/client"
	"mcpc/internal/client/process"
	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// runCommand runs a command of the user and returns its output, or the answer for a command that
// failed. The server's params go to its standard input only, so that they cannot become a part of
// the command. flag names the command in the error.
func (r *Answerer) runCommand(
	ctx context.Context,
	flag, command string,
	params json.RawMessage,
) ([]byte, *client.Answer) {
	process.KeepOrphans() // processes of the command are no orphans of a server
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdin = bytes.NewReader(append(bytes.Clone(jsonraw.OrEmpty(params)), '\n'))
	cmd.Stderr = r.A.UI.Stderr()
	cmd.WaitDelay = time.Second // a process that the command leaves behind may hold the pipe open
	out, err := cmd.Output()
	if err != nil {
		return nil, &client.Answer{
			Outcome: wire.Outcome{
				Kind: wire.LocalIO, Text: fmt.Sprintf("%s: the command failed: %v", flag, err),
				Hint: "it reads the params on stdin and must exit with 0",
			},
		}
	}
	return bytes.TrimSpace(out), nil
}

// elicitByCommand answers a form or a page with the command of --on-elicit. If the command fails or
// its output is no valid answer, the answer has a failed outcome, and nothing is sent to the server.
func (r *Answerer) elicitByCommand(ctx context.Context, q client.InputRequest, isPage bool) client.Answer {
	out, failed := r.runCommand(ctx, "--on-elicit", r.OnElicit, q.Params)
	if failed != nil {
		return *failed
	}
	invalid := func(text string, findings []wire.Finding) client.Answer {
		a := invalidAnswer(question.Form{}, "--on-elicit: "+text, findings)
		a.Outcome.Hint = `it writes {"action":"accept","content":{...}}, {"action":"decline"} or {"action":"cancel"}`
		return a
	}
	members, err := jsonraw.Object(out)
	content, hasContent := members.Get("content")
	action := members.Text("action")
	if err != nil {
		return invalid("its output is not a JSON object: "+jsonraw.Excerpt(out, maxQuoted), nil)
	}
	if action == "decline" || action == "cancel" {
		r.noteAnswer(q.Method, "--on-elicit said "+action)
		return client.Answer{Result: jsonraw.With(nil, "action", jsonraw.Quote(action))}
	}
	if action != "accept" {
		return invalid("its output has no action: "+jsonraw.Excerpt(out, maxQuoted), nil)
	}
	if isPage { // the answer to a page has no content
		return client.Answer{Result: question.Accept(nil)}
	}
	if !hasContent {
		content = json.RawMessage("{}")
	}
	form, failure := question.ParseForm(q.Params)
	if failure != nil {
		return NoForm(failure)
	}
	findings := append(form.Check(content), r.Broken(form.Schema, content)...)
	if len(findings) > 0 {
		return invalid("its output does not match the form that the server requested", findings)
	}
	r.noteAnswer(q.Method, "--on-elicit answered with "+jsonraw.Excerpt(content, maxNoted))
	return client.Answer{Result: question.Accept(content)}
}

// sample answers a sampling request with a command, with a file, or by the user. Without any of
// them the answer's outcome is an unanswered request.
func (r *Answerer) sample(ctx context.Context, q client.InputRequest) client.Answer {
	var output []byte
	var failed *client.Answer
	switch {
	case r.OnSampling != "":
		output, failed = r.runCommand(ctx, "--on-sampling", r.OnSampling, q.Params)
	case r.Sampling == "-" && r.canAskUser: // at a terminal, "-" is the user
		return r.A.UI.WriteMessage(ctx, q, r.C.Label())
	case r.Sampling != "":
		output, failed = r.samplingFile()
	default:
		return client.Answer{Outcome: client.UnansweredOutcome(q.Method)}
	}
	if failed != nil {
		return *failed
	}
	message, err := question.Message(q.Params, output)
	if err != nil {
		return client.Answer{
			Outcome: wire.Outcome{Kind: wire.InvalidArguments, Text: err.Error(), Hint: wire.Run("help answering")},
		}
	}
	r.noteAnswer(q.Method, "answered with "+jsonraw.Excerpt(message, maxNoted))
	return client.Answer{Result: message}
}

// samplingFile returns the content of the file of --sampling. It reads the file once, because it
// may be standard input.
func (r *Answerer) samplingFile() ([]byte, *client.Answer) {
	if r.isRead {
		return r.samplingText, nil
	}
	raw, _, err := r.A.UI.Input("@" + r.Sampling)
	if err != nil {
		return nil, &client.Answer{Outcome: wire.Outcome{Kind: wire.LocalIO, Text: "--sampling: " + err.Error()}}
	}
	r.samplingText = raw
	r.isRead = true
	return raw, nil
}
