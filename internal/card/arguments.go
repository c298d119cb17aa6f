package card

import (
	"fmt"
	"strings"
	"unicode"
)

// argumentWords returns the words of a list of arguments, in its order. joinsFlags is set if a
// named argument is one word, --flag=value, and not two.
func (f *filler) argumentWords(raw []byte, joinsFlags bool) []string {
	items, err := objectItems(raw)
	if err != nil {
		f.fail(err)
	}
	var words []string
	for i, m := range items {
		kind := m.Text("type")
		name := m.Text("name")
		var argument []string
		switch {
		case kind == "named" && (name == "" || strings.ContainsFunc(name, unicode.IsSpace)):
			f.fail(malformed("argument %d has no name, or one with a space", i+1))
		case kind == "named":
			for _, value := range f.inputValues(strings.TrimLeft(name, "-"), m) {
				if value == "" { // a flag without a value
					argument = append(argument, name)
				} else if joinsFlags {
					argument = append(argument, name+"="+value)
				} else {
					argument = append(argument, name, value)
				}
			}
		case kind == "positional", kind == "" && m.Value("value") != nil:
			argument = f.inputValues(textMember(m, "valueHint"), m)
		default:
			f.fail(malformed("argument %d is neither named nor positional", i+1))
		}
		for _, word := range argument {
			f.checkText(fmt.Sprintf("argument %d", i+1), word)
		}
		words = append(words, argument...)
	}
	return words
}

// A flagUse describes an option of a program that runs packages.
type flagUse struct {
	// takesValue is set if a value follows the option.
	takesValue bool
	// access names what the option gives the server access to, or is "".
	access string
}

// runnerFlags are the options that a card may use for each program. Other options could make the
// program run something else than the package.
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
		"--no-healthcheck": {}, "-e": {takesValue: true}, "--env": {takesValue: true}, "--name": {takesValue: true},
		"-w": {takesValue: true}, "--workdir": {takesValue: true}, "-u": {takesValue: true}, "--user": {takesValue: true},
		"--platform": {takesValue: true}, "-m": {takesValue: true}, "--memory": {takesValue: true},
		"--cpus": {takesValue: true},
		"--pull": {takesValue: true}, "--tmpfs": {takesValue: true}, "--cap-drop": {takesValue: true},
		"-l":      {takesValue: true},
		"--label": {takesValue: true}, "-h": {takesValue: true}, "--hostname": {takesValue: true},
		"--entrypoint": {takesValue: true}, "--shm-size": {takesValue: true}, "--pids-limit": {takesValue: true},
		"--stop-timeout": {takesValue: true}, "-v": {takesValue: true, access: "files of this machine"},
		"--volume":   {takesValue: true, access: "files of this machine"},
		"--mount":    {takesValue: true, access: "files of this machine"},
		"--env-file": {takesValue: true, access: "a file of this machine"},
		"--network":  {takesValue: true, access: "a network of this machine"},
		"--net":      {takesValue: true, access: "a network of this machine"},
		"-p":         {takesValue: true, access: "a port of this machine"},
		"--publish":  {takesValue: true, access: "a port of this machine"},
		"--add-host": {takesValue: true, access: "a host under another name"},
		"--device":   {takesValue: true, access: "a device"}, "--gpus": {takesValue: true, access: "devices"},
		"--privileged": {access: "the whole machine"}, "--cap-add": {takesValue: true, access: "more of the kernel"},
		"--security-opt": {takesValue: true, access: "more of the kernel"},
		"--pid":          {takesValue: true, access: "other processes"},
		"--ipc":          {takesValue: true, access: "other processes"},
		"--userns":       {takesValue: true, access: "other users"},
		"--uts":          {takesValue: true, access: "the name of this machine"},
	},
}

// checkRuntime rejects words that are not known options of the program: the program would run such a
// word instead of the package. It returns warnings about options that give the server access to the
// machine.
func (f *filler) checkRuntime(program string, words []string) []string {
	var warnings []string
	for i := 0; i < len(words); i++ {
		name, value, hasEquals := strings.Cut(words[i], "=")
		use, known := runnerFlags[program][name]
		if !known {
			f.fail(refused("mcpc does not pass the argument %q to %s for a card", words[i], program))
			return warnings
		}
		isBoolean := value == "true" || value == "false"
		isExcess := !use.takesValue && hasEquals && !isBoolean
		isMissing := use.takesValue && !hasEquals && i+1 == len(words)
		if isExcess || isMissing {
			f.fail(refused("the argument %q of %s has a value too many or too few", words[i], program))
			return warnings
		}
		shown := words[i]
		if use.takesValue && !hasEquals {
			i++
			value = words[i]
			shown += " " + value
		}
		isOff := value == "none" || value == "false" // such as --network none
		if use.access != "" && !isOff {
			warnings = append(warnings, fmt.Sprintf("%s gives the server access to %s", shown, use.access))
		}
	}
	return warnings
}
