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

// shellOut runs a command of the user's with a server's words on its standard
// input, and nowhere else: nothing of them may become a part of the command.
func (r *Answerer) shellOut(
	ctx context.Context,
	flag, command string,
	params json.RawMessage,
) ([]byte, *client.Answer) {
	process.KeepOrphans()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(append(bytes.Clone(jsonraw.OrEmpty(params)), '\n')), r.A.UI.Stderr()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, &client.Answer{
			Ending: wire.Outcome{Kind: wire.LocalIO, Text: fmt.Sprintf("%s: the command failed: %v", flag, err),
				Hint: "it reads the params on stdin and must exit with 0"},
		}
	}
	return bytes.TrimSpace(out), nil
}

// elicitBy answers a form or a page with --on-elicit.
func (r *Answerer) elicitBy(ctx context.Context, q client.Asking, page bool) client.Answer {
	out, failed := r.shellOut(ctx, "--on-elicit", r.OnElicit, q.Params)
	if failed != nil {
		return *failed
	}
	bad := func(text string, findings []wire.Finding) client.Answer {
		a := unfit(question.Form{}, "--on-elicit: "+text, findings)
		a.Ending.Hint = `it writes {"action":"accept","content":{...}}, {"action":"decline"} or {"action":"cancel"}`
		return a
	}
	members, err := jsonraw.Object(out)
	content, has := members.Get("content")
	action := members.Text("action")
	switch {
	case err != nil:
		return bad("its output is not a JSON object: "+jsonraw.Excerpt(out, 80), nil)
	case action == "decline" || action == "cancel":
		r.told(q.Method, "--on-elicit said "+action)
		return client.Answer{Result: jsonraw.With(nil, "action", jsonraw.Quote(action))}
	case action != "accept":
		return bad("its output has no action: "+jsonraw.Excerpt(out, 80), nil)
	case page:
		return client.Answer{Result: question.Accept(nil)}
	case !has:
		content = json.RawMessage("{}")
	}
	form, failure := question.ParseForm(q.Params)
	if failure != nil {
		return NoForm(failure)
	}
	if findings := append(form.Check(content), r.Broken(form.Schema, content)...); len(findings) > 0 {
		return bad("its output does not match the form that the server requested", findings)
	}
	r.told(q.Method, "--on-elicit answered with "+jsonraw.Excerpt(content, 400))
	return client.Answer{Result: question.Accept(content)}
}

// sample answers a request for a model's words: a file, a command, or a person.
func (r *Answerer) sample(ctx context.Context, q client.Asking) client.Answer {
	var wrote []byte
	var failed *client.Answer
	switch {
	case r.OnSampling != "":
		wrote, failed = r.shellOut(ctx, "--on-sampling", r.OnSampling, q.Params)
	case r.Sampling == "-" && r.person:
		return r.A.UI.WriteMessage(ctx, q, r.C.Label())
	case r.Sampling != "":
		wrote, failed = r.samplingFile()
	default:
		return client.Answer{Ending: client.Unanswered(q.Method)}
	}
	if failed != nil {
		return *failed
	}
	message, err := question.Message(q.Params, wrote)
	if err != nil {
		return client.Answer{
			Ending: wire.Outcome{Kind: wire.InvalidArguments, Text: err.Error(), Hint: wire.Run("help answering")},
		}
	}
	r.told(q.Method, "answered with "+jsonraw.Excerpt(message, 400))
	return client.Answer{Result: message}
}

// samplingFile reads the file of --sampling; standard input can be read once.
func (r *Answerer) samplingFile() ([]byte, *client.Answer) {
	if r.read {
		return r.typed, nil
	}
	raw, _, err := r.A.UI.Input("@" + r.Sampling)
	if err != nil {
		return nil, &client.Answer{Ending: wire.Outcome{Kind: wire.LocalIO, Text: "--sampling: " + err.Error()}}
	}
	r.typed = raw
	r.read = true
	return raw, nil
}
