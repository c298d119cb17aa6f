//go:build unix

package main

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/tests/terminal"
)

// What a terminal says of itself, and what a person then sees of an image.

// asking is the last of the questions.
const asking = "\x1b\\[c"

func TestTerminalPictures(t *testing.T) {
	t.Parallel()
	const (
		blocks = "\x1b\\[0;38;5;[0-9;]+m[▀▄]"
		ahead  = `save it: -o FILE(\x1b\[0m)?\r\n`
	)
	for name, c := range map[string]struct {
		env, flags []string
		// reply is what the terminal answers; "-" is nothing, "" that it is not asked.
		reply, shows string
	}{
		"kitty":              {reply: "\x1b_Gi=31;OK\x1b\\\x1bP>|kitty(0.26.5)\x1b\\\x1b[6;20;10t\x1b[?62;c", shows: ahead + "\x1b_Gf=100,q=2,a=T;"},
		"iTerm2":             {reply: "\x1bP>|iTerm2 3.5.4\x1b\\\x1b[6;20;10t\x1b[?62;4c", shows: ahead + "\x1b\\]1337;File=size="},
		"sixel":              {reply: "\x1bP>|XTerm(379)\x1b\\\x1b[6;20;10t\x1b[?63;1;2;4;6c", shows: ahead + "\x1bP0;1q"},
		"neither":            {reply: "\x1bP>|XTerm(379)\x1b\\\x1b[?64;1;2;6c", shows: ahead + "(.*)" + blocks},
		"VT100":              {reply: "\x1b[?1;2c", shows: ahead + "(.*)" + blocks},
		"mute":               {reply: "-", shows: ahead + "(.*)" + blocks},
		"24 bits":            {env: []string{"COLORTERM=truecolor"}, reply: "\x1b[?1;2c", shows: "\x1b\\[0;38;2;"},
		"ssh with kitty":     {env: []string{"SSH_CONNECTION=1 2 3 4"}, reply: "\x1b_Gi=31;OK\x1b\\\x1b[?62;c", shows: ahead + "\x1b_G"},
		"ssh":                {env: []string{"SSH_CONNECTION=1 2 3 4"}, reply: "\x1b[?62;c", shows: ahead + "The image above"},
		"16 colours":         {env: []string{"TERM=xterm"}, reply: "\x1b[?62;c", shows: ahead + "The image above"},
		"the C locale":       {env: []string{"LC_ALL=C"}, reply: "\x1b[?62;c", shows: ahead + "The image above"},
		"none":               {flags: []string{"--no-images"}, shows: ahead + "The image above"},
		"none by variable":   {env: []string{"MCPC_NO_IMAGES=1"}, shows: ahead + "The image above"},
		"blocks":             {flags: []string{"--images", "blocks"}, shows: blocks},
		"sixel all the same": {flags: []string{"--images", "sixel"}, reply: "-", shows: "\x1bP0;1q"},
		"no colour":          {env: []string{"NO_COLOR=1"}, shows: ahead + "The image above"},
		"dumb":               {env: []string{"TERM=dumb"}, shows: ahead + "The image above"},
		"Apple's":            {env: []string{"TERM_PROGRAM=Apple_Terminal"}, shows: blocks},
		"JSON":               {flags: []string{"--json"}, shows: `"mimeType"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := append([]string{"COLORTERM=", "SSH_CONNECTION=", "SSH_TTY=", "TERM_PROGRAM="}, c.env...)
			tm := terminal.Start(t, 80, env, append([]string{"mcpc", "-s", "demo", "call", "get-tiny-image"}, c.flags...)...)
			if c.reply != "" && c.reply != "-" {
				tm.Await(asking)
				tm.Type(c.reply)
			}
			tm.Await(c.shows)
			if out := tm.Ends("0"); strings.Contains(out, "\x1b[c") != (c.reply != "") {
				t.Errorf("that the terminal was asked is not %v: %q", c.reply != "", out)
			}
		})
	}
}

// A server's icons, the images that its texts name and its pages are named, and never
// fetched.
func TestURLsInServerTextsAreNotFetched(t *testing.T) {
	t.Parallel()
	bait, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bait.Close() })
	var visitors atomic.Int32
	go func() {
		for {
			conn, err := bait.Accept()
			if err != nil {
				return
			}
			visitors.Add(1)
			conn.Close()
		}
	}()
	url := "http://" + bait.Addr().String() + "/icon.png"
	icons := `"icons":[{"src":"` + url + `","mimeType":"image/png","sizes":["48x48"]}]`
	script, log := playFile(t, strings.NewReplacer("URL", url, "ICONS", icons).Replace(`speaks `+client.Revisions()[1]+`
tool {"name":"look",ICONS,"inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://bait/page"}}}

on initialize
    result {"protocolVersion":"`+client.Revisions()[1]+`","capabilities":{"tools":{}},"serverInfo":{"name":"bait","version":"1","websiteUrl":"URL",ICONS}}

on tools/call
    result {"content":[{"type":"text","text":"# A\n\n**b** ![c](URL)"},{"type":"resource_link","uri":"URL","name":"d",ICONS},{"type":"resource_link","uri":"ui://bait/page","name":"p"}]}
`))
	for _, args := range []string{"info", "list --long", "describe look", "call look"} {
		out := terminal.Start(t, 80, nil, append(append([]string{"mcpc"}, strings.Fields(args)...), "--", "spied", script, log)...).Ends("0")
		if args == "call look" && (!strings.Contains(out, url) || !strings.Contains(out, "ui://bait/page")) {
			t.Errorf("%s does not name them: %q", args, out)
		}
	}
	if n := visitors.Load(); n > 0 {
		t.Errorf("%d times somebody came to fetch", n)
	}
}
