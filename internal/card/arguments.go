package card

import (
	"fmt"
	"strings"
	"unicode"
)

// arguments returns the words of a list of arguments, in its order.
func (f *filler) arguments(raw []byte, equals bool) (words []string) {
	items, err := objects(raw)
	if err != nil {
		f.fail(err)
	}
	for i, m := range items {
		kind := m.Text("type")
		name := m.Text("name")
		var each []string
		switch {
		case kind == "named" && (name == "" || strings.ContainsFunc(name, unicode.IsSpace)):
			f.fail(malformed("argument %d has no name, or one with a space", i+1))
		case kind == "named":
			for _, value := range f.values(strings.TrimLeft(name, "-"), m) {
				switch {
				case value == "":
					each = append(each, name)
				case equals:
					each = append(each, name+"="+value)
				default:
					each = append(each, name, value)
				}
			}
		case kind == "positional", kind == "" && m.Value("value") != nil:
			each = f.values(text(m, "valueHint"), m)
		default:
			f.fail(malformed("argument %d is neither named nor positional", i+1))
		}
		for _, word := range each {
			f.checkText(fmt.Sprintf("argument %d", i+1), word)
		}
		words = append(words, each...)
	}
	return words
}

// A flagUse says what mcpc knows of an option of a program that runs packages.
type flagUse struct {
	// takes is set where a value follows.
	takes bool
	// opens says what the option gives the server access to, "" for nothing.
	opens string
}

// runnerFlags are the options that a card may give to each program. Others could have it run
// something else than the package that is named.
var runnerFlags = map[string]map[string]flagUse{
	"npx": {
		"-y": {}, "--yes": {}, "-q": {}, "--quiet": {}, "--prefer-offline": {}, "--prefer-online": {},
	},
	"uvx": {
		"-q": {}, "--quiet": {}, "--isolated": {}, "--offline": {}, "--refresh": {}, "--no-cache": {}, "-n": {},
		"--native-tls": {}, "--no-progress": {},
	},
	"dnx": {
		"--yes": {}, "-y": {}, "--allow-roll-forward": {},
	},
	"docker": {
		"-i": {}, "--interactive": {}, "--rm": {}, "--init": {}, "--read-only": {}, "-t": {}, "--tty": {},
		"--no-healthcheck": {}, "-e": {takes: true}, "--env": {takes: true}, "--name": {takes: true},
		"-w": {takes: true}, "--workdir": {takes: true}, "-u": {takes: true}, "--user": {takes: true},
		"--platform": {takes: true}, "-m": {takes: true}, "--memory": {takes: true}, "--cpus": {takes: true},
		"--pull": {takes: true}, "--tmpfs": {takes: true}, "--cap-drop": {takes: true}, "-l": {takes: true},
		"--label": {takes: true}, "-h": {takes: true}, "--hostname": {takes: true},
		"--entrypoint": {takes: true}, "--shm-size": {takes: true}, "--pids-limit": {takes: true},
		"--stop-timeout": {takes: true}, "-v": {takes: true, opens: "files of this machine"},
		"--volume":   {takes: true, opens: "files of this machine"},
		"--mount":    {takes: true, opens: "files of this machine"},
		"--env-file": {takes: true, opens: "a file of this machine"},
		"--network":  {takes: true, opens: "a network of this machine"},
		"--net":      {takes: true, opens: "a network of this machine"},
		"-p":         {takes: true, opens: "a port of this machine"},
		"--publish":  {takes: true, opens: "a port of this machine"},
		"--add-host": {takes: true, opens: "a host under another name"},
		"--device":   {takes: true, opens: "a device"}, "--gpus": {takes: true, opens: "devices"},
		"--privileged": {opens: "the whole machine"}, "--cap-add": {takes: true, opens: "more of the kernel"},
		"--security-opt": {takes: true, opens: "more of the kernel"},
		"--pid":          {takes: true, opens: "other processes"}, "--ipc": {takes: true, opens: "other processes"},
		"--userns": {takes: true, opens: "other users"},
		"--uts":    {takes: true, opens: "the name of this machine"},
	},
}

// checkRuntime refuses words that are no known options of the program, and warns of those that
// open the sandbox. A word that is no option would be run in the place of the package.
func (f *filler) checkRuntime(program string, words []string) (warnings []string) {
	for i := 0; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		use, known := runnerFlags[program][name]
		if !known {
			f.fail(refused("mcpc does not pass the argument %q to %s for a card", words[i], program))
			return warnings
		}
		if !use.takes && joined && value != "true" && value != "false" || use.takes && !joined && i+1 == len(words) {
			f.fail(refused("the argument %q of %s has a value too many or too few", words[i], program))
			return warnings
		}
		shown := words[i]
		if use.takes && !joined {
			i++
			value = words[i]
			shown += " " + value
		}
		if use.opens != "" && value != "none" && value != "false" {
			warnings = append(warnings, fmt.Sprintf("%s gives the server access to %s", shown, use.opens))
		}
	}
	return warnings
}
