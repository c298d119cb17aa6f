// Package web serves the page of mcpc inspect to a browser on this machine. It shows what a
// view.Reader has and does what a view.Actor allows.
//
// A URL with a token that works once lets a page in. The page then has a cookie and a key, and
// each request for data needs both: another page on this machine can have the browser send the
// cookie, but does not know the key. Errors are {"error": text} and of a filter have its column.
package web
