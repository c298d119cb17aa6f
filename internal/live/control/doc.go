// Package control connects views to the commands that pass messages on. Each tap and proxy listens on
// a Unix socket. Through it a view holds and releases messages and changes fault rules.
package control
