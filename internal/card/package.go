package card

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
)

// A packageKind says how to run packages of a registry type, and how their names and versions look.
type packageKind struct {
	program             string
	identifier, version func() *regexp.Regexp
}

// lazyPattern returns a function that compiles a regular expression at its first call.
func lazyPattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var packageKinds = map[string]packageKind{
	"npm": {
		"npx",
		lazyPattern(`^(@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-zA-Z0-9._~-]*$`),
		lazyPattern(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`),
	},
	"pypi": {
		"uvx",
		lazyPattern(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`),
		lazyPattern(`^(\d+!)?\d+(\.\d+)*([.-]?[a-z]+[.-]?\d*)*(\+[a-z0-9.]+)?$`),
	},
	"nuget": {
		"dnx",
		lazyPattern(`^[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*$`),
		lazyPattern(`^\d+(\.\d+){1,3}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`),
	},
	"oci": {
		"docker",
		lazyPattern(`^[a-z0-9][a-zA-Z0-9.-]*(:\d+)?(/[a-z0-9][a-z0-9._-]*)*` +
			`(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(@sha256:[0-9a-f]{64})?$`),
		lazyPattern(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`),
	},
}

// packagePlan returns the plan of a package: the command that downloads and runs exactly the
// version that the document names. It fails if mcpc cannot be sure of that.
func (f *filler) packagePlan(c Choice) Plan {
	m := c.members
	kind := textMember(m, "registryType")
	if kind == "" {
		kind = textMember(m, "registryName") // the member in older documents
	}
	runner, known := packageKinds[kind]
	identifier := m.Text("identifier")
	version := m.Text("version")
	if identifier == "" {
		identifier = m.Text("name") // in older documents, too
	}
	p := Plan{Kind: "stdio", Instructions: installInstructions(m)}
	switch {
	case c.isCard:
		f.fail(refused("it is a server card, which describes remote servers only, and names the package %q", identifier))
	case kind == "mcpb":
		f.fail(bundleError(m, identifier))
	case !known:
		f.fail(refused("no program is known that runs packages of the type %q", kind))
	case textMember(m, "fileSha256") != "":
		f.fail(refused("its file must have a given SHA-256, and %s downloads the file itself, unchecked", runner.program))
	case !runner.identifier().MatchString(identifier) || strings.Contains(identifier, ".."):
		f.fail(refused("%q is not the name of a package of the type %s", identifier, kind))
	case textMember(m, "runtimeHint") != "" && textMember(m, "runtimeHint") != runner.program:
		f.fail(refused("it names the program %q; packages of the type %s are run by %s only",
			textMember(m, "runtimeHint"), kind, runner.program))
	}
	transport, _ := jsonraw.Object(m.Value("transport"))
	if t := transport.Text("type"); t != "" && t != "stdio" {
		f.fail(refused("the package is a server for %s at %s: start it yourself, then give mcpc that URL",
			t, transport.Text("url")))
	}
	if f.err != nil {
		return p
	}
	if base := textMember(m, "registryBaseUrl"); base != "" && kind != "oci" {
		p.Warnings = append(p.Warnings, "the package is of "+base+"; "+runner.program+" gets it from its own registry")
	}
	pinned := identifier + "@" + version
	if kind == "oci" {
		pinned = f.imageReference(identifier, version, textMember(m, "registryBaseUrl"))
	} else if !runner.version().MatchString(version) {
		f.fail(refused("its version %q is not one exact version", version))
	}
	f.addCommand(&p, c, runner.program, pinned)
	return p
}

// imageReference returns the reference of an image with its tag or digest. Older files have the version and
// the host in separate members.
func (f *filler) imageReference(identifier, version, registryURL string) string {
	first, rest, hasPath := strings.Cut(identifier, "/")
	hasHost := hasPath && strings.ContainsAny(first, ".:")
	if host := strings.TrimPrefix(registryURL, "https://"); host != "" && !hasHost {
		identifier = strings.TrimSuffix(host, "/") + "/" + identifier
	} else if !hasPath {
		rest = first
	}
	if lastElement := rest[strings.LastIndexByte(rest, '/')+1:]; !strings.ContainsAny(lastElement, ":@") {
		identifier += ":" + version
	}
	_, tag, _ := strings.Cut(identifier[strings.LastIndexByte(identifier, '/')+1:], ":")
	if oci := packageKinds["oci"]; !oci.identifier().MatchString(identifier) || tag == "" || tag == "latest" {
		f.fail(refused("the image %q has no exact tag or digest", identifier))
	}
	return identifier
}

// bundleError returns why mcpc does not run a bundle.
func bundleError(m jsonraw.Members, identifier string) error {
	sum := textMember(m, "fileSha256")
	if !lazyPattern(`^[a-f0-9]{64}$`)().MatchString(sum) {
		return refused("the bundle %s has no SHA-256", identifier)
	}
	return refused(
		"mcpc does not run bundles: download %s, compare its SHA-256 with %s, and install it in a program that does",
		identifier, sum)
}

// addCommand sets the command line and the environment of a plan.
func (f *filler) addCommand(p *Plan, c Choice, program, pinned string) {
	runtime := f.argumentWords(memberByName(c.members, "runtimeArguments"), c.joinsFlags)
	arguments := f.argumentWords(memberByName(c.members, "packageArguments"), c.joinsFlags)
	p.Env = f.settingsWithValues(memberByName(c.members, "environmentVariables"), "variable", isForbiddenVariable)
	for _, in := range f.references {
		if in.Secret && strings.Contains(strings.Join(arguments, "\n"), reference(in.ID)) {
			p.Warnings = append(p.Warnings, "the secret "+in.ID+" is an argument of the command, which other processes can see")
		}
	}
	if program == "docker" {
		f.addImageCommand(p, runtime, pinned, arguments)
		return
	}
	p.Warnings = append(p.Warnings, f.checkRuntime(program, runtime)...)
	// The command below has the flag that answers the runner's question.
	runtime = slices.DeleteFunc(runtime, func(word string) bool { return word == "-y" || word == "--yes" })
	p.Command = []string{program}
	switch program {
	case "npx": // without -y npx asks on stdin, which the protocol uses
		p.Command = append(append(append(p.Command, "-y"), runtime...), pinned)
	case "dnx":
		p.Command = append(append(p.Command, runtime...), pinned, "--yes")
		if len(arguments) > 0 {
			p.Command = append(p.Command, "--")
		}
	default:
		p.Command = append(append(p.Command, runtime...), pinned)
	}
	p.Command = append(p.Command, arguments...)
}

// addImageCommand sets the command line of a container. It passes a secret in the environment of
// docker, because other processes can see arguments.
func (f *filler) addImageCommand(p *Plan, runtime []string, image string, arguments []string) {
	if len(runtime) > 0 && runtime[0] == "run" {
		runtime = runtime[1:]
	}
	p.Warnings = append(p.Warnings, f.checkRuntime("docker", runtime)...)
	if f.err != nil {
		return
	}
	p.Command = []string{"docker", "run", "-i", "--rm"}
	var env []Setting
	passVariable := func(name, value string) {
		if strings.Contains(value, referencePrefix) {
			if isForbiddenVariable(name) { // it would be set for docker, too, and not only in the container
				f.fail(refused("mcpc does not set the variable %q for a card", name))
			}
			env = append(env, Setting{name, value})
			p.Command = append(p.Command, "-e", name)
		} else {
			p.Command = append(p.Command, "-e", name+"="+value)
		}
	}
	for i := 0; i < len(runtime); i++ {
		word := runtime[i]
		flag, value, hasEquals := strings.Cut(word, "=")
		if slices.Contains([]string{"-i", "--interactive", "--rm"}, word) { // the command has them already
			continue
		}
		valueFollows := runnerFlags["docker"][flag].takesValue && !hasEquals
		if valueFollows {
			i++
			value = runtime[i]
		}
		name, setTo, isSet := strings.Cut(value, "=")
		if (flag == "-e" || flag == "--env") && isSet {
			passVariable(name, setTo)
		} else if valueFollows {
			p.Command = append(p.Command, word, value)
		} else {
			p.Command = append(p.Command, word)
		}
	}
	for _, s := range p.Env {
		passVariable(s.Name, s.Value)
	}
	p.Env = env
	p.Command = append(append(p.Command, image), arguments...)
}

var variableName = lazyPattern(`^[A-Za-z_][A-Za-z0-9_]*$`)

// A variable of one word, without _, is allowed if allowedWords contains it or it ends with an
// element of allowedEnds: most other single words are settings of shells, linkers and runtimes
// (PS4, SHELLOPTS, SSLKEYLOGFILE). Other variables are forbidden if they begin or end like a
// setting of a runtime, unless they are harmless.
var (
	allowedWords = strings.Fields(
		"DEBUG VERBOSE LOGLEVEL PORT HOST MODE REGION PROJECT WORKSPACE KUBECONFIG DSN DATABASE DOMAIN " +
			"TENANT EMAIL ACCOUNT ORG ORGANIZATION USERNAME PGUSER PGDATABASE BUCKET CLUSTER ENDPOINT ENVIRONMENT " +
			"FORMAT INDEX LANGUAGE LIMIT LOCALE MODEL NAMESPACE SITE STAGE TEAM TIMEOUT TIMEZONE TRANSPORT UNITS",
	)
	allowedEnds = strings.Fields("KEY TOKEN SECRET PASSWORD PASS URL URI HOST PORT")

	forbiddenBegins = strings.Fields(
		"LD_ DYLD_ NODE_ NPM_CONFIG_ PYTHON UV_ PIP_ RUBY PERL5 JAVA_ GIT_ DOTNET_ NUGET_ DOCKER_ " +
			"BUILDKIT_ XDG_ OPENSSL_ COREPACK_ MCPC_ BASH_ ZSH_ PROMPT_ GLIBC_ MALLOC_ GCONV_ RES_ ELECTRON_ DENO_ BUN_ YARN_ " +
			"PNPM_ NVM_ VOLTA_ CARGO_ RUST_ RUSTC_ JDK_ CURL_ LC_ _",
	)
	forbiddenEnds = strings.Fields(
		"_PROXY _CA_BUNDLE _CERT_FILE _CERT_DIR _EXTRA_CA_CERTS _OPTIONS _OPTS _PRELOAD _TUNABLES")
	harmlessVariables = strings.Fields("NODE_ENV PYTHONUNBUFFERED PYTHONIOENCODING PYTHONUTF8 RUST_LOG RUST_BACKTRACE")
)

// isForbiddenVariable reports whether a variable may make programs load other code, read other
// settings or use another network.
func isForbiddenVariable(name string) bool {
	upper := strings.ToUpper(name)
	begins := func(begin string) bool { return strings.HasPrefix(upper, begin) }
	ends := func(end string) bool { return strings.HasSuffix(upper, end) }
	if !variableName().MatchString(name) {
		return true
	}
	if slices.Contains(harmlessVariables, upper) {
		return false
	}
	if slices.ContainsFunc(forbiddenBegins, begins) || slices.ContainsFunc(forbiddenEnds, ends) {
		return true
	}
	if strings.Contains(name, "_") {
		return false
	}
	return !slices.Contains(allowedWords, upper) && !slices.ContainsFunc(allowedEnds, ends)
}

// installInstructions returns what the author wants done after the installation, as text.
func installInstructions(m jsonraw.Members) []string {
	items, _ := objectItems(memberByName(m, "postInstallInstructions"))
	var all []string
	for _, m := range items {
		line := m.Text("description")
		if command := m.Text("command"); command != "" {
			line += ": " + command
		}
		if string(m.Value("optional")) == "true" {
			line += " (optional)"
		}
		all = append(all, line)
	}
	return all
}
