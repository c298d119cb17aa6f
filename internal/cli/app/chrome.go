package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client/process"
	"mcpc/internal/pause"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// chromeNames are the names of Chromium and Chrome in the PATH, and chromePlaces where else they are. A
// * stands for any name, and ~ for the home directory.
var (
	chromeNames = []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge",
	}
	chromePlaces = []string{
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium",
		"~/.cache/ms-playwright/chromium-*/chrome-linux*/chrome",
		"~/Library/Caches/ms-playwright/chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
		"~/AppData/Local/ms-playwright/chromium-*/chrome-win*/chrome.exe",
		"C:/Program Files/Google/Chrome/Application/chrome.exe",
	}
)

// startTime is how long Chromium may take in addition to the limit of the page.
const startTime = 30 * time.Second

// findChrome returns the command line of Chromium: MCPC_CHROME, which may have flags, or the first that is
// installed.
func findChrome(getenv func(string) string) ([]string, error) {
	if line := getenv("MCPC_CHROME"); line != "" {
		argv, err := shellwords.Split(line, nil)
		if err == nil && len(argv) == 0 {
			err = fmt.Errorf("it has no words")
		}
		if err != nil {
			return nil, usage.New("MCPC_CHROME: "+err.Error(), "it is a command: MCPC_CHROME='chromium --no-sandbox'")
		}
		return argv, nil
	}
	for _, name := range chromeNames {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	home := getenv("HOME")
	if home == "" {
		home = getenv("USERPROFILE")
	}
	for _, place := range chromePlaces {
		found, _ := filepath.Glob(strings.Replace(place, "~", home, 1))
		if len(found) > 0 {
			return []string{slices.Max(found)}, nil // the newest version of Playwright's browsers
		}
	}
	return nil, cmdutil.Exit(wire.Outcome{
		Kind: wire.LocalIO,
		Text: "no Chromium or Chrome was found, which app needs",
		Hint: "apt-get install chromium, or npx playwright install chromium; MCPC_CHROME names another one",
	})
}

// screenshot returns a PNG picture of a page once it has finished loading.
func screenshot(ctx context.Context, chrome []string, url string, width int, limit time.Duration) ([]byte, error) {
	folder, err := os.MkdirTemp("", "mcpc-app-")
	if err != nil {
		return nil, cmdutil.Exit(usage.LocalIO("making a folder for the browser", err))
	}
	defer removeAll(folder)
	picture := filepath.Join(folder, "picture.png")
	argv := append(slices.Clone(chrome),
		"--headless=new", "--screenshot="+picture, fmt.Sprintf("--window-size=%d,%d", width, maxHeight),
		"--user-data-dir="+filepath.Join(folder, "profile"), "--hide-scrollbars", "--mute-audio", "--no-first-run",
		"--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
		"--disable-extensions", "--disable-sync", "--force-device-scale-factor=1", url)
	p, err := process.Start(process.Command{Args: argv})
	if err != nil {
		return nil, chromeFailed(chrome, err.Error())
	}
	outputEnded := make(chan struct{})
	p.Watch(func([]byte) {}, outputEnded)
	go func() {
		defer close(outputEnded)
		_, _ = io.Copy(io.Discard, p.Stdout)
	}()
	running, stop := context.WithTimeout(ctx, limit+startTime)
	defer stop()
	select {
	case <-p.Exited:
	case <-running.Done():
	}
	p.End()
	if ctx.Err() != nil {
		return nil, cmdutil.Exit(wire.Outcome{Kind: wire.Signal})
	}
	data, err := os.ReadFile(picture)
	if err == nil {
		return data, nil
	}
	ending := p.State().String()
	if running.Err() != nil {
		ending = fmt.Sprintf("it has not ended after %v", limit+startTime)
	}
	lines := strings.Split(strings.TrimSpace(p.Stderr.Text()), "\n")
	return nil, chromeFailed(chrome, ending+": "+lines[len(lines)-1])
}

// chromeFailed returns the error for a browser that made no picture.
func chromeFailed(chrome []string, text string) error {
	reason := strings.TrimSuffix(chrome[0]+": "+text, ": ")
	out := wire.Outcome{Kind: wire.LocalIO, Reached: wire.Answered, Text: "no picture: " + reason}
	if strings.Contains(text, "no-sandbox") && !slices.Contains(chrome, "--no-sandbox") {
		out.Hint = wire.Hint("another user can run it, or root with MCPC_CHROME='" + chrome[0] + " --no-sandbox'")
	}
	return cmdutil.Exit(out)
}

// removeAll removes a folder. The last processes of a browser may still write into it for a moment.
func removeAll(folder string) {
	for range 20 {
		if os.RemoveAll(folder) == nil {
			return
		}
		_ = pause.For(context.Background(), 50*time.Millisecond)
	}
}
