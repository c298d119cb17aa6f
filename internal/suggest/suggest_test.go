package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"get-sum", "get_weather", "echo", "list-files", "日本語"}
	for word, want := range map[string]string{
		"get_wether": "get_weather", "get-weather": "get_weather", "GET_SUM": "get-sum", "ehco": "echo", "hceo": "", "ech": "echo", "list": "list-files", "get": "", "li": "",
		"list-file": "list-files", "delete-everything": "", "": "", "x": "", "日本後": "日本語",
		strings.Repeat("a", 100_000): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
	if got := Nearest("aaaa", []string{strings.Repeat("a", 1<<20), "aaab", "aaac"}); got != "aaab" {
		t.Errorf("got %q", got)
	}
}

// A name about the same thing comes before a name with more letters in common, unless there is just
// a typing error.
func TestNearestName(t *testing.T) {
	t.Parallel()
	known := []string{"find_dsns", "find_teams", "find_projects", "search_issues", "update_issue", "create_project", "listUsers", "get-time", "add"}
	for name, want := range map[string]string{
		"find_issues":     "search_issues",
		"findIssues":      "search_issues",
		"find-issue":      "update_issue",
		"find_dsn":        "find_dsns",
		"serch_issues":    "search_issues",
		"find_team":       "find_teams",
		"find_users":      "listUsers",
		"remove_projects": "find_projects",
		"set-time":        "get-time",
		"issues":          "",
		"drop_database":   "",
		"":                "",
	} {
		if got := NearestName(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := NearestName("get_all_that_is_open_in_issues", []string{"lock_issues", "search_issues"}); got != "" {
		t.Errorf("of two that are equally good: %q", got)
	}
}
