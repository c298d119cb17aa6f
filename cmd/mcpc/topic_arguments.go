package main

import "github.com/spf13/cobra"

// newArguments is the topic `mcpc help arguments`.
func newArguments() *cobra.Command {
	return &cobra.Command{
		Use:   "arguments",
		Short: "the arguments of a tool or a prompt",
		Long: `Arguments are words, one JSON object, or an object and words that change it:

  mcpc call get-sum a=1 b=2
  mcpc call get-sum '{"a":1,"b":2}'
  mcpc call get-sum @args.json b=3
  mcpc call get-sum --args @args.json

Words
  name=TEXT     typed by the tool's inputSchema: a=01234 is a string if the
                schema allows a string, and an error if it requires a number.
                Numbers keep every digit. If the schema allows any type, null,
                true and 1 are strings too; a note says so.
  name:=JSON    a JSON value: n:=7, on:=true, list:='[1,2]', none:=null
  name=@FILE    the file's text; @- is stdin
  name:=@FILE   the file's JSON
  name.b=1      a member of an object: {"name":{"b":1}}
  name[]=x      append an item to an array; can be repeated
  name[0]=x     the item at that index, from 0

A backslash escapes the next character: 'a\.b=1' is the name a.b, '\-x=1' the
name -x. A string that begins with @ is written as JSON: a:='"@x"'.

Words override members of the object. The same name twice is an error. Members
are sent in the order in which they were typed, and the object's bytes
unchanged.

JSON
  '{...}'       the object; @FILE from a file, - from stdin
  --args JSON   the same as a flag: '{...}', @FILE or -

A name that is not in the schema is an error if the schema forbids additional
properties, else it is sent with a warning. A missing required member with a
default is sent with that default and a warning. At a terminal mcpc asks for
other missing members. With --no-validate nothing is validated, filled in or
asked, and a word that does not match is sent as a string.

--dry-run prints the request without sending it; --curl prints it as a command.
An unknown tool's definition is requested from the server; --offline contacts no
server, and needs types (name:=JSON) for unknown tools.

A prompt takes the same words; its values are strings, and dots are part of a
name.`,
	}
}
