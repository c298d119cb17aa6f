//go:build programs

package codegen

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"mcpc/internal/mcp"
)

// The script of a hostile list runs nothing but mcpc, with the words that were meant.
func TestShellOfAHostileList(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a POSIX shell")
	}
	code, left := Shell(source(t))
	again, _ := Shell(source(t))
	if !bytes.Equal(code, again) || len(left) != 1 {
		t.Errorf("two runs differ, or %+v is left out", left)
	}
	golden(t, "hostile.sh.txt", code)
	dir := t.TempDir()
	stub := "#!/bin/sh\nfor word do printf '<%s>' \"$word\"; done\n"
	for name, text := range map[string]string{"mcpc": stub, "tools": string(code)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const where = "<--><sh><-c><`x` \"y\">"
	for _, c := range []struct {
		words []string
		want  string
		exit  int
	}{
		{[]string{"$(touch x)"}, "<call><$(touch x)>" + where, 0},
		{[]string{"get_sum", "--a", "1", "--A=2 3"}, "<call><get_sum><a=1><A=2 3>" + where, 0},
		{[]string{"get_sum", "--a", "$(touch x)`touch x`'\"", "--", "--json", "--timeout", "5s"}, "<call><get_sum><a=$(touch x)`touch x`'\"><--json><--timeout><5s>" + where, 0},
		{[]string{"deep", "--n", `{"v":1}`, "--any:=[1]", "--many", "5", "--opt", "x=y", "--args", `{"list":[]}`}, `<call><deep><n:={"v":1}><any:=[1]><many=5><opt=x=y><--args={"list":[]}>` + where, 0},
		{[]string{"${process.exit(1)}", "--constructor", "3"}, "<call><${process.exit(1)}><constructor=3>" + where, 0},
		{[]string{"${process.exit(1)}", "--x,omitempty", "3"}, "", 2},
		{[]string{"天気", "--市", "x"}, "", 2},
		{[]string{"天気", "--args", `{"市":"x"}`}, `<call><天気><--args={"市":"x"}>` + where, 0},
		{[]string{"get_sum", "--a"}, "", 2},
		{[]string{"get_sum", "x"}, "", 2},
		{[]string{"*"}, "", 2},
		{[]string{"-rf"}, "", 2},
	} {
		cmd := exec.Command("sh", append([]string{"./tools"}, c.words...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "MCPC="+filepath.Join(dir, "mcpc"))
		out, _ := cmd.Output()
		if got := cmd.ProcessState.ExitCode(); got != c.exit || string(out) != c.want {
			t.Errorf("%q: exit code %d, %s; want %d, %s", c.words, got, out, c.exit, c.want)
		}
	}
	for _, w := range append(hostile(t), mcp.Tool{Name: ""}) {
		cmd := exec.Command("sh", "./tools", w.Name, "--help")
		cmd.Dir = dir
		if out, err := cmd.Output(); (err != nil || len(out) == 0) != (w.Name == "-rf") {
			t.Errorf("%q --help: %v, %s", w.Name, err, out)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("something was run: %v", files)
	}
}
