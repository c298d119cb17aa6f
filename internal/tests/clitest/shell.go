package clitest

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// A Shell runs scripts of a POSIX shell, or bash, in this process. The commands mcpc, grep and sed
// run in this process too; all others are programs.
type Shell struct {
	Dir            string
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Process runs mcpc as a program, with separate signals, streams and exit.
	Process bool
	// call is called before each command. It may be nil.
	call interp.CallHandlerFunc
}

// Run runs a script and returns its exit code. words are $0, $1 and so on.
func (s Shell) Run(ctx context.Context, script string, words ...string) (int, error) {
	name := "sh"
	if len(words) > 0 {
		name = words[0]
		words = append([]string{"--"}, words[1:]...)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), name)
	if err != nil {
		return 0, err
	}
	options := []interp.RunnerOption{
		interp.Dir(s.Dir), interp.Env(expand.ListEnviron(s.Env...)), interp.Params(words...),
		interp.StdIO(s.Stdin, shareable(s.Stdout), shareable(s.Stderr)), interp.ExecHandlers(s.execHandler),
	}
	if s.call != nil {
		options = append(options, interp.CallHandler(s.call))
	}
	runner, err := interp.New(options...)
	if err != nil {
		return 0, err
	}
	err = runner.Run(ctx, file)
	if status, ok := errors.AsType[interp.ExitStatus](err); ok {
		return int(status), nil
	}
	return 0, err
}

// shareable returns a writer that the commands of a pipeline can share. It returns a file unchanged.
func shareable(w io.Writer) io.Writer {
	if file, ok := w.(*os.File); ok {
		return file
	}
	return &stream{writer: w}
}

// execHandler returns a handler that runs mcpc, grep and sed in this process, and all other commands
// with program.
func (s Shell) execHandler(program interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		handler := interp.HandlerCtx(ctx)
		if args[0] == "mcpc" && !s.Process {
			if err := s.enter(handler.Dir); err != nil {
				return err
			}
			run := Run{Args: args[1:], Env: exportedVariables(handler.Env), Stdin: handler.Stdin, Stdout: handler.Stdout, Stderr: handler.Stderr}
			return exitStatus(run.Do())
		}
		if args[0] == "grep" {
			return exitStatus(textTool{handler.Dir, handler.Stdin, handler.Stdout, handler.Stderr}.runGrep(args[1:]))
		}
		if args[0] == "sed" {
			return exitStatus(textTool{handler.Dir, handler.Stdin, handler.Stdout, handler.Stderr}.runSed(args[1:]))
		}
		return program(ctx, args)
	}
}

// enter sets the working directory of the process to dir, if the script changed it.
func (s Shell) enter(dir string) error {
	if dir == s.Dir {
		return nil
	}
	return os.Chdir(dir)
}

func exitStatus(code int) error {
	if code == 0 {
		return nil
	}
	return interp.ExitStatus(code)
}

// exportedVariables returns the exported variables, sorted.
func exportedVariables(env expand.Environ) []string {
	values := map[string]string{}
	env.Each(func(name string, v expand.Variable) bool {
		delete(values, name)
		if v.IsSet() && v.Exported {
			values[name] = v.String()
		}
		return true
	})
	var entries []string
	for name, value := range values {
		entries = append(entries, name+"="+value)
	}
	slices.Sort(entries)
	return entries
}

// shellProgram runs sh: sh -c SCRIPT [WORD...], or sh FILE [WORD...]. It returns the exit code.
func shellProgram(args []string) int {
	if len(args) == 0 {
		return printError(errors.New("usage: sh -c SCRIPT, or sh FILE"))
	}
	script := ""
	words := args
	if args[0] == "-c" && len(args) > 1 {
		script = args[1]
		words = args[2:]
	} else {
		text, err := os.ReadFile(args[0])
		if err != nil {
			return printError(err)
		}
		script = string(text)
	}
	dir, err := os.Getwd()
	if err != nil {
		return printError(err)
	}
	shell := Shell{
		Dir: dir, Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Process: true, call: becomeProgram,
	}
	code, err := shell.Run(context.Background(), script, words...)
	if err != nil {
		return printError(err)
	}
	return code
}
