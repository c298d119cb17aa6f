package target

import (
	"strings"
	"testing"
)

func TestServedURL(t *testing.T) {
	const url = "https://h.example/mcp"
	for line, want := range map[string]string{
		"mcpc serve " + url:                                     url,
		"/usr/bin/mcpc serve --allow */x " + url:                url,
		"mcpc serve " + url + " --proxy http://p:1":             url,
		"npx -y mcp-remote@latest " + url + " --header X: y":    url,
		"supergateway --sse " + url + " --logLevel none":        url,
		"npx -y mcp-remote " + url + " --instead http://x":      url,
		"mcpc serve work":                                       "",
		"mcpc serve " + url + " https://other.example/mcp":      "",
		"uvx mcp-proxy " + url:                                  url,
		"mcp-proxy --headers X y " + url:                        "",
		"mcpc tap -- " + url:                                    "",
		"server --url " + url:                                   "",
		"supergateway --stdio server --port 1 http://x.example": "",
	} {
		if got := ServedURL(strings.Split(line, " ")); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}
