package tui

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// A player runs a model without a terminal, in a bubble of synctest: commands run until nothing
// more happens, and time passes only if a test lets it.
type player struct {
	t    *testing.T
	m    *model
	in   chan tea.Msg
	quit bool
}

// play runs a test with a model of a size.
func play(t *testing.T, w, h int, r *reader, a *actor, test func(p *player)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if r == nil {
			r = newReader()
		}
		r.changed = make(chan struct{})
		if r.stuck != nil {
			r.stuck = make(chan struct{})
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := Options{Reader: r, Now: testNow, NoColor: true, MaxHold: 10 * time.Minute, Try: r.startsServer}
		if a != nil {
			o.Actor = a
		}
		p := &player{t: t, m: newModel(ctx, o), in: make(chan tea.Msg, 10_000)}
		p.run(p.m.Init())
		p.send(tea.WindowSizeMsg{Width: w, Height: h})
		test(p)
		if r.stuck != nil {
			close(r.stuck)
		}
		cancel()
		time.Sleep(time.Minute) // of the bubble: timers that are left run out
	})
}

func (p *player) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				p.run(c)
			}
		case tea.QuitMsg:
			p.quit = true
		default:
			p.in <- msg
		}
	}()
}

// send gives the model a message, and runs until nothing more happens.
func (p *player) send(msg tea.Msg) {
	_, cmd := p.m.Update(msg)
	p.run(cmd)
	p.settle()
}

func (p *player) settle() {
	for {
		synctest.Wait()
		_ = p.m.frame()
		select {
		case msg := <-p.in:
			_, cmd := p.m.Update(msg)
			p.run(cmd)
		default:
			return
		}
	}
}

var keyCodes = map[string]rune{
	"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
	"space": tea.KeySpace, "backspace": tea.KeyBackspace, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd,
}

func keyOf(name string) tea.KeyPressMsg {
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok && len(letter) == 1 {
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
	}
	if name == "shift+tab" {
		return tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	}
	if code, ok := keyCodes[name]; ok {
		k := tea.KeyPressMsg{Code: code}
		if name == "space" {
			k.Text = " "
		}
		return k
	}
	r := []rune(name)
	return tea.KeyPressMsg{Code: r[0], Text: name}
}

// keys presses keys by their names, each after the one before was done.
func (p *player) keys(names ...string) *player {
	for _, n := range names {
		p.send(keyOf(n))
	}
	return p
}

// types presses the keys of a text.
func (p *player) types(text string) *player {
	for _, r := range text {
		if r == ' ' {
			p.keys("space")
			continue
		}
		p.keys(string(r))
	}
	return p
}

// screen is what is drawn, without styles; every line must have the width of the screen.
func (p *player) screen() string {
	p.t.Helper()
	lines := strings.Split(ansi.Strip(p.m.frame()), "\n")
	if len(lines) != p.m.h {
		p.t.Errorf("%d lines, want %d", len(lines), p.m.h)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w != p.m.w {
			p.t.Errorf("line %d has %d columns, want %d: %q", i, w, p.m.w, l)
		}
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (p *player) shows(want ...string) {
	p.t.Helper()
	got := p.screen()
	for _, w := range want {
		if !strings.Contains(got, w) {
			p.t.Errorf("the screen does not show %q:\n%s", w, got)
		}
	}
}

func (p *player) hides(want ...string) {
	p.t.Helper()
	got := p.screen()
	for _, w := range want {
		if strings.Contains(got, w) {
			p.t.Errorf("the screen shows %q:\n%s", w, got)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (run with -update to accept):\n%s", path, d)
	}
}
