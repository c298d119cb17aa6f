package process

import (
	"errors"
	"testing"
)

func TestIsBatch(t *testing.T) {
	for program, want := range map[string]bool{`C:\nodejs\npx.cmd`: true, `x.BAT`: true, `node.exe`: false, `cmd`: false, `a.cmd\node`: false} {
		if got := isBatch(program); got != want {
			t.Errorf("%s: got %v", program, got)
		}
	}
}

func TestBatchCommandLine(t *testing.T) {
	const before = `cmd.exe /e:ON /v:OFF /d /c ""C:\Program Files\nodejs\npx.cmd"`
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no argument", nil, `"`},
		{"plain", []string{"-y", "@x/server"}, ` "-y" "@x/server""`},
		{"an empty one", []string{""}, ` """`},
		{"a blank", []string{`C:\My Files\x`}, ` "C:\My Files\x""`},
		{"two parameters of a URL", []string{"https://x.example/?a=1&b=2"}, ` "https://x.example/?a=1&b=2""`},
		{"characters of cmd.exe", []string{`a^b|c<d>e(f)`}, ` "a^b|c<d>e(f)""`},
		{"a variable", []string{"%PATH%"}, ` "%%cd:~,%PATH%%cd:~,%""`},
		{"quotes", []string{`{"a":"b\"}`}, ` "{""a"":""b\\""}""`},
		{"a backslash at the end", []string{`C:\x\`}, ` "C:\x\\""`},
	} {
		if got, err := batchCommandLine(`C:\Program Files\nodejs\npx.cmd`, c.args); err != nil || got != before+c.want {
			t.Errorf("%s: got %s, %v", c.name, got, err)
		}
	}
	for _, arg := range []string{"a\nb", "a\rb", "a\x00b"} {
		if _, err := batchCommandLine("x.cmd", []string{arg}); !errors.Is(err, errBatchArgument) {
			t.Errorf("%q: got %v", arg, err)
		}
	}
	for _, file := range []string{`a"b.cmd`, `%TEMP%\x.cmd`} {
		if got, err := batchCommandLine(file, nil); err == nil {
			t.Errorf("%s: got %s", file, got)
		}
	}
}
