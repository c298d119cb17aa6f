// Package docs has the tests of the documentation against the program: the help, the manual, the
// pages of docs/, their examples, and what mcpc explain knows. Pages that are generated are written
// with flags of the tests:
//
//	go test ./internal/tests/docs -run TestDocumentedCommands -reference   # docs/reference/commands.md
//	go test ./internal/tests/docs -run TestRulesPage -rules                # docs/dev/rules.md
//	go test ./internal/tests/docs -run TestTerminalsPage -terminal         # docs/terminal.md
package docs
