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
  name=TEXT     typed by the tool's inputSchema: a=01234 stays a text where a
                text may stand, and is refused where a number has to. Numbers
                keep every digit. null, true and 1 are texts too where the
                schema leaves it open; a note says so.
  name:=JSON    a JSON value: n:=7, on:=true, list:='[1,2]', none:=null
  name=@FILE    the file's text; @- is standard input
  name:=@FILE   the file's JSON
  name.b=1      a member of an object: {"name":{"b":1}}
  name[]=x      one more item of a list; again for the next
  name[0]=x     the item at that place; the first is 0

A backslash takes the meaning from the character behind it: 'a\.b=1' is the name
a.b, '\-x=1' the name -x. What begins with @ is a text only as JSON: a:='"@x"'.

Words replace what stands in the object. No word replaces another one: the same
name twice is refused. Members are sent in the order in which they were typed,
and the object's bytes as they are.

JSON
  '{...}'       as it stands; @FILE from a file, - from standard input
  --args JSON   the same as a flag: '{...}', @FILE or -

A name that the schema does not list is refused where it forbids others, and
sent with a warning where it does not. What is required, missing and has a
default in the schema is sent with that default, and a warning says so. At a
terminal mcpc asks for what else is missing. With --no-validate nothing is
checked, filled in or asked, and a word that does not fit is sent as a text.

--dry-run shows the request and does not send it; --curl shows it as a command.
Where the tool is not known from an earlier run the server is asked for it;
--offline asks nobody, and wants types (name:=JSON) where it is not known.

A prompt takes the same words, all of them texts, and a name is a name with the
dots that it has.`,
	}
}
