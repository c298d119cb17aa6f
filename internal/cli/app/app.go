// Package app has the command app, which takes a picture of a tool's page (MCP Apps).
package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"net"
	"time"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/live/view"
	"mcpc/internal/usage"
	"mcpc/internal/web"
	"mcpc/internal/wire"
)

// maxHeight is the height of the browser's window in pixels, and so the largest height of a picture.
const maxHeight = 2160

// defaultLimit is how long an app may take without --max-time, and quietTime how long a quiet app sends
// nothing.
const (
	defaultLimit = 30 * time.Second
	quietTime    = time.Second
)

// options are the flags and arguments of mcpc app.
type options struct {
	toolcall.Request
	argv  []string
	html  string // the file for the document, or ""
	theme string
	width int
}

// New returns the command app.
func New(f *cmdutil.Factory) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "app TOOL [JSON] [NAME=VALUE...] -o FILE.png [-- COMMAND...]",
		Short: "take a picture of a tool's page (MCP Apps)",
		Long: `Call a tool, render its page (MCP Apps) in a browser without a window, and write
a picture of it. The page is shown as mcpc inspect --web shows it: in a frame of
its own that reaches no address but those that it declares. The picture is taken
once the page is initialized and sends nothing for a second; --max-time limits
the wait (default 30s). The page may call tools as mcpc call does, with the same
questions. -v prints its messages.

It needs Chromium or Chrome: MCPC_CHROME, or in the PATH, or of Playwright.`,
		Example: `  mcpc -s demo app show-weather -o weather.png
  mcpc -s demo app show-weather --theme dark --width 390 -o phone.png
  mcpc -s demo app show-weather --html weather.html`,
		ValidArgsFunction: f.CompleteCall,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			args, o.argv = cmdutil.SplitDash(cmd, args)
			if len(args) == 0 {
				return usage.New("app needs the name of a tool", wire.RunOnServer("list")+" shows the tools")
			}
			if err := meant.CheckMisplaced(f, "app", args, o.argv); err != nil {
				return err
			}
			o.Name = args[0]
			if err := o.check(f); err != nil {
				return err
			}
			const flat = false // names may be paths into objects and lists
			o.Given, err = arguments.Parse(&f.Env, args[1:], "", flat)
			if err != nil {
				return meant.UnnamedArguments(f, cmd, connect.ToolKind, []string{"app", o.Name}, args[1:], err)
			}
			return run(cmd.Context(), f, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.theme, "theme", "light", "show it `light` or dark")
	flags.IntVar(&o.width, "width", 800, "width of the page in `pixels`")
	flags.StringVar(&o.html, "html", "", "write the document of the page to a `file`")
	flags.BoolVarP(&o.Yes, "yes", "y", false, "call without asking for confirmation")
	_ = cmd.RegisterFlagCompletionFunc("theme", cmdutil.CompleteFixed("light", "dark"))
	f.AddAnswering(flags)
	return cmd
}

// check returns an error for flags with an unusable value.
func (o *options) check(f *cmdutil.Factory) error {
	if f.JSON || f.Wire || f.Jq != "" {
		return usage.New("app writes a picture, not JSON",
			wire.RunOnServer("describe "+o.Name+" --app-info")+" prints what the page declares")
	}
	if f.Output == "" && o.html == "" {
		return usage.New("app needs a file for the picture", wire.RunOnServer("app "+o.Name+" -o "+o.Name+".png"))
	}
	if o.theme != "light" && o.theme != "dark" {
		return usage.New(fmt.Sprintf("--theme is light or dark, and not %q", o.theme), "")
	}
	if o.width < 200 || o.width > 4000 {
		return usage.New("--width is from 200 to 4000 pixels", "--width 390 is a phone")
	}
	return nil
}

// run calls the tool, renders its page and writes the files.
func run(ctx context.Context, f *cmdutil.Factory, o options) error {
	var chrome []string
	if f.Output != "" {
		var err error
		chrome, err = findChrome(f.Getenv)
		if err != nil {
			return err
		}
	}
	if out := cmdutil.CheckWritable("--html", o.html); !out.OK() {
		return cmdutil.Exit(out)
	}
	f.DeclareApps()
	c, out := f.Open(ctx, connect.Options{Argv: o.argv, MultiCall: true})
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	shown, out := readApp(ctx, c, o.Name)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	if o.html != "" {
		if err := cmdutil.ReplaceFile(o.html, []byte(shown.Declared.Page.HTML)); err != nil {
			return cmdutil.Exit(usage.LocalIO("writing "+o.html, err))
		}
	}
	if f.Output == "" {
		return nil
	}
	out, _ = toolcall.CallTool(ctx, c, &o.Request)
	if !out.OK() && out.Kind != wire.ToolError { // a page may show the error of its tool
		return cmdutil.Exit(out)
	}
	report, picture, err := render(ctx, f, c, chrome, shown, o, out.Result)
	if err != nil {
		return err
	}
	showReport(f, report)
	if report.State != "ready" {
		return cmdutil.Exit(wire.Outcome{
			Kind: wire.Timeout, Reached: wire.Answered, Method: "tools/call", Name: o.Name,
			Text: "the page was not initialized in time: it has sent " + messagesOf(report) +
				", and its state is " + report.State,
			Hint: "an app sends ui/initialize and then ui/notifications/initialized",
		})
	}
	if err := cmdutil.ReplaceFile(f.Output, picture); err != nil {
		return cmdutil.Exit(usage.LocalIO("writing "+f.Output, err))
	}
	return nil
}

// readApp reads the page of a tool. The outcome is not OK if the tool has no page that can be shown.
func readApp(ctx context.Context, c *connect.Conn, name string) (view.App, wire.Outcome) {
	tool, out := c.DefineOnce(ctx, name)
	if !out.OK() {
		return view.App{}, out
	}
	refuse := func(text string) (view.App, wire.Outcome) {
		return view.App{}, wire.Outcome{Kind: wire.CheckFailed, Reached: wire.Answered, Method: "resources/read", Text: text}
	}
	if tool.UI == "" {
		return refuse("the tool " + name + " declares no page (MCP Apps)")
	}
	declared, out := toolcall.ReadApp(ctx, c, tool.Tool)
	if !out.OK() {
		return view.App{}, out
	}
	if reason := declared.Unrenderable(); reason != "" {
		return refuse("the page of " + name + " is not shown: " + reason)
	}
	return view.App{Declared: declared, Definition: tool.Raw}, out
}

// render shows the page in a browser, and returns what became of it and its picture.
func render(
	ctx context.Context, f *cmdutil.Factory, c *connect.Conn, chrome []string, shown view.App, o options,
	result json.RawMessage,
) (web.ShotReport, []byte, error) {
	limit := defaultLimit
	if f.Limits.Hard > 0 {
		limit = f.Limits.Hard
	}
	page, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return web.ShotReport{}, nil, cmdutil.Exit(usage.LocalIO("listening for the browser", err))
	}
	defer page.Close()
	sandbox, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return web.ShotReport{}, nil, cmdutil.Exit(usage.LocalIO("listening for the browser", err))
	}
	defer sandbox.Close()
	shot := web.NewShot(web.ShotOptions{
		Listener: page, Sandbox: sandbox, App: shown, Input: o.Arguments, Result: result,
		Theme: o.theme, Width: o.width, Limit: limit, Quiet: quietTime, Secret: rand.Text, Now: f.Now,
		Request: func(ctx context.Context, method string, params json.RawMessage) view.AppResponse {
			return respond(toolcall.RequestOfApp(ctx, c, method, params, toolcall.Request{Yes: o.Yes}))
		},
	})
	serving, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		shot.Serve(serving)
	}()
	defer func() {
		stop()
		<-ended
	}()
	picture, err := screenshot(ctx, chrome, shot.URL(), o.width, limit)
	if err != nil {
		return web.ShotReport{}, nil, err
	}
	report, ok := shot.Report()
	if !ok {
		return report, nil, chromeFailed(chrome, "it showed no page")
	}
	picture, err = crop(picture, o.width, report.Height)
	return report, picture, err
}

// respond returns the response to a request of a page.
func respond(out wire.Outcome) view.AppResponse {
	response := view.AppResponse{Result: out.Result, Sent: view.Sent{Text: out.Text}}
	if rpc := out.RPCError(); rpc != nil {
		response.Error = rpc.Raw
	}
	return response
}

// crop returns the upper left part of a PNG picture.
func crop(picture []byte, width, height int) ([]byte, error) {
	whole, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, cmdutil.Exit(usage.LocalIO("reading the picture of the browser", err))
	}
	part := image.NewRGBA(whole.Bounds().Intersect(image.Rect(0, 0, width, min(height, maxHeight))))
	draw.Draw(part, part.Bounds(), whole, image.Point{}, draw.Src)
	var cropped bytes.Buffer
	err = png.Encode(&cropped, part)
	return cropped.Bytes(), err
}

// showReport warns of what a page did wrong, and prints its messages with -v.
func showReport(f *cmdutil.Factory, r web.ShotReport) {
	if f.Verbose > 0 {
		for _, m := range r.Messages {
			f.Note(f.ErrStyle.Line(fmt.Sprintf("page: %s %s, %d bytes", m.Dir, m.Method, m.Bytes)))
		}
		f.Note(fmt.Sprintf("page: %s, height %d", messagesOf(r), r.Height))
	}
	if r.Dropped > 0 {
		f.Warn(fmt.Sprintf("%d messages of the page were dropped: too many or too large", r.Dropped))
	}
	if r.State == "ready" && !r.Quiet {
		f.Warn("the page was still sending messages when the picture was taken")
	}
}

// messagesOf returns the number of messages of a report as text.
func messagesOf(r web.ShotReport) string {
	sent := 0
	for _, m := range r.Messages {
		if m.Dir == "received" {
			sent++
		}
	}
	return fmt.Sprintf("%d messages", sent)
}
