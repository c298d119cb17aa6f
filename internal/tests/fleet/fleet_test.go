package fleet_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/collector"
	"mcpc/internal/tests/fleet"
	"mcpc/internal/tests/program"
	"mcpc/internal/yaml"
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }

// A fleetProxy is the proxy that a file of docs/fleet starts: its words after mcpc, and its environment.
type fleetProxy struct {
	args []string
	env  map[string]string
}

// unitProxy returns the proxy of the systemd unit for the server files, with the example of its
// settings.
func unitProxy(t *testing.T) fleetProxy {
	t.Helper()
	p := fleetProxy{env: map[string]string{}}
	set := func(assignment string) {
		name, value, ok := strings.Cut(assignment, "=")
		if !ok {
			t.Fatalf("no assignment: %q", assignment)
		}
		p.env[name] = value
	}
	lines := regexp.MustCompile(`(?m)^(Environment|ExecStart)=(.*)$`).FindAllStringSubmatch(program.Read(t, fleet.File(t, "mcpc-proxy@.service")), -1)
	for _, line := range lines {
		words := strings.Fields(strings.NewReplacer("%i", "files", "%H", "host", "%S", t.TempDir()).Replace(line[2]))
		if line[1] == "ExecStart" {
			p.args = words[1:]
			continue
		}
		for _, word := range words {
			set(word)
		}
	}
	for line := range strings.Lines(program.Read(t, fleet.File(t, "proxy.env"))) {
		if !strings.HasPrefix(line, "#") {
			set(strings.TrimSpace(line))
		}
	}
	for i, word := range p.args {
		p.args[i] = strings.NewReplacer("${SERVER}", p.env["SERVER"], "${LISTEN}", p.env["LISTEN"]).Replace(word)
	}
	return p
}

// fleetDocument reads the document of a YAML file that has a text.
func fleetDocument(t *testing.T, file, has string, into any) {
	t.Helper()
	for text := range strings.SplitSeq(program.Read(t, fleet.File(t, file)), "\n---\n") {
		if !strings.Contains(text, has) {
			continue
		}
		doc, err := yaml.Parse([]byte(text))
		if err == nil {
			err = json.Unmarshal(doc.JSON, into)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%s has no document with %q", file, has)
}

func composeProxy(t *testing.T) fleetProxy {
	t.Helper()
	var file struct {
		Services struct {
			MCPC struct {
				Mode        string `json:"network_mode"`
				Command     []string
				Environment map[string]string
			}
			Agent struct{ Image string }
		}
	}
	fleetDocument(t, "compose.yaml", "services:", &file)
	if mcpc := file.Services.MCPC; mcpc.Mode != "service:agent" || file.Services.Agent.Image == "" {
		t.Errorf("the network of the proxy is %q: no agent reaches its loopback", mcpc.Mode)
	}
	return fleetProxy{file.Services.MCPC.Command, file.Services.MCPC.Environment}
}

// podProxy is the sidecar of a Deployment.
func podProxy(t *testing.T, name string) fleetProxy {
	t.Helper()
	type variable struct {
		Name, Value string
		From        struct {
			Field struct{ Path string } `json:"fieldRef"`
		} `json:"valueFrom"`
	}
	var file struct {
		Spec struct {
			Template struct {
				Spec struct {
					Init []struct {
						Name, RestartPolicy string
						Args                []string
						Env                 []variable
					} `json:"initContainers"`
				}
			}
		}
	}
	fleetDocument(t, name, "kind: Deployment", &file)
	sidecar := file.Spec.Template.Spec.Init[0]
	if sidecar.Name != "mcpc" || sidecar.RestartPolicy != "Always" {
		t.Fatalf("%s is no sidecar", sidecar.Name)
	}
	p := fleetProxy{args: sidecar.Args, env: map[string]string{}}
	for _, v := range sidecar.Env { // a value may refer to those before it
		for known, value := range p.env {
			v.Value = strings.ReplaceAll(v.Value, "$("+known+")", value)
		}
		if strings.Contains(v.Value, "$(") {
			t.Errorf("%s=%s", v.Name, v.Value)
		}
		p.env[v.Name] = v.Value
		if v.Value == "" {
			p.env[v.Name] = "x"
		}
	}
	return p
}

// assignments returns an environment as a list.
func assignments(env map[string]string) (list []string) {
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// The proxies of docs/fleet start as their files say, only with other ports, send telemetry that
// names the service, and end by SIGTERM when it has been sent.
func TestFleetProxies(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]fleetProxy{
		"systemd": unitProxy(t), "compose": composeProxy(t), "agent": podProxy(t, "kubernetes-agent.yaml"), "server": podProxy(t, "kubernetes-server.yaml"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, demo := collector.Start(t), clitest.Serve(t, nil, "demo", "--listen", "127.0.0.1:0")
			at := slices.Index(p.args, "--to") + 1
			if !strings.HasSuffix(p.args[at], ":3001/mcp") || !strings.HasSuffix(p.env["OTEL_EXPORTER_OTLP_ENDPOINT"], ":4318") {
				t.Fatalf("%v %v", p.args, p.env)
			}
			args := slices.Clone(p.args)
			args[at], args[slices.Index(args, "--listen")+1] = demo.URL, "127.0.0.1:0"
			env := maps.Clone(p.env)
			env["OTEL_EXPORTER_OTLP_ENDPOINT"] = c.URL
			proxy := clitest.Serve(t, assignments(env), append(args, "--state", t.TempDir())...)
			if got := clitest.MCPC(t, nil, "-s", proxy.URL, "call", "get-sum", "a=1", "b=2"); got.Code != 0 {
				t.Fatalf("%+v", got)
			}
			proxy.Signals <- syscall.SIGTERM
			if said, code := proxy.Wait(); code != 128+int(syscall.SIGTERM) || strings.Contains(said, "warning") {
				t.Errorf("ended with %d: %s", code, said)
			}
			c.Named(t, "tools/call get-sum", tracepb.Span_SPAN_KIND_SERVER)
			if c.Resource["service.name"] != "files" || c.Resource["service.namespace"] != "mcp" || c.Resource["deployment.environment.name"] != "production" {
				t.Errorf("the resource is %v", c.Resource)
			}
		})
	}
}

// The dashboards query metrics and attributes of the convention, as Prometheus names them, or ones
// that a store adds.
func TestFleetDashboards(t *testing.T) {
	t.Parallel()
	var convention struct {
		Metrics map[string]struct{ Attributes map[string]string }
	}
	if err := json.Unmarshal([]byte(program.Read(t, filepath.Join("..", "..", "telemetry", "testdata", "convention.json"))), &convention); err != nil {
		t.Fatal(err)
	}
	known := []string{"le", "job", "instance", "service_name", "service_instance_id"}
	for name, metric := range convention.Metrics {
		name = strings.ReplaceAll(name, ".", "_") + "_seconds"
		known = append(known, name+"_bucket", name+"_count", name+"_sum")
		for attribute := range metric.Attributes {
			known = append(known, strings.ReplaceAll(attribute, ".", "_"))
		}
	}
	known = append(known, "sum", "count", "by", "rate", "increase", "histogram_quantile", "or")
	words := regexp.MustCompile(`"[^"]*"|\[[^]]*\]|[a-z][a-z_]*`)
	for file, panels := range fleet.Dashboards(t) {
		ids, queries := map[int]bool{}, 0
		for _, p := range panels {
			if ids[p.ID] || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: panel %q has the id %d and stands at %v", file, p.Title, p.ID, p.GridPos)
			}
			ids[p.ID] = true
			for _, target := range p.Targets {
				queries++
				for _, side := range []string{"server", "client"} {
					expr := strings.NewReplacer("${side}", side, "$identity", "job").Replace(target.Expr)
					for _, word := range words.FindAllString(expr, -1) {
						if word[0] != '"' && word[0] != '[' && !slices.Contains(known, word) {
							t.Errorf("%s: panel %q asks for %s, which mcpc does not send: %s", file, p.Title, word, expr)
						}
					}
				}
			}
		}
		if queries < 10 {
			t.Errorf("%s has %d queries", file, queries)
		}
	}
}

// A proxy that runs for weeks reports at once that its collector accepts nothing, and not only at
// its end.
func TestProxyReportsItsCollector(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refusing.Close)
	demo := clitest.Serve(t, nil, "demo", "--listen", "127.0.0.1:0")
	proxy := clitest.Serve(t, []string{"OTEL_BSP_SCHEDULE_DELAY=1"}, "proxy", "--to", demo.URL, "--listen", "127.0.0.1:0", "--otlp", refusing.URL)
	if got := clitest.MCPC(t, nil, "-s", proxy.URL, "ping"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	const want = "mcpc: warning: telemetry: the collector accepts nothing: 127.0.0.1:"
	proxy.AwaitStderr(regexp.QuoteMeta(want))
}
