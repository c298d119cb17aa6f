# bash completion for mcpc. It needs no other package, and evaluates nothing.

_mcpc() {
  local line=${COMP_LINE:0:COMP_POINT} word= quote= open= c i
  local -a words=() found=()
  for ((i = 0; i < ${#line}; i++)); do
    c=${line:i:1}
    if [[ $quote == "'" ]]; then
      if [[ $c == "'" ]]; then quote=; else word+=$c; fi
    elif [[ $c == '\' ]]; then
      ((i += 1))
      word+=${line:i:1} open=1
    elif [[ $quote == '"' ]]; then
      if [[ $c == '"' ]]; then quote=; else word+=$c; fi
    elif [[ $c == "'" || $c == '"' ]]; then
      quote=$c open=1
    elif [[ $c == [[:space:]] ]]; then
      [[ -n $open ]] && words+=("$word")
      word= open=
    else
      word+=$c open=1
    fi
  done

  # What bash takes for the current word begins behind the last of these.
  local head= breaks=${COMP_WORDBREAKS//[^=:@]/}
  [[ -z $quote && -n $breaks && $word == *[$breaks]* ]] && head=${word%"${word##*[$breaks]}"}

  local answer directive=0
  answer=$("${1/#\~/$HOME}" __completeNoDesc "${words[@]:1}" "$word" 2>/dev/null) || return
  while IFS= read -r c; do
    case $c in
      :[0-9]*) directive=${c#:} ;;
      "$word"*)
        c=${c#"$head"}
        if [[ -z $quote ]]; then printf -v c %q "$c"; fi
        found+=("$c")
        ;;
    esac
  done <<<"$answer"
  COMPREPLY=("${found[@]}")
  type compopt >/dev/null 2>&1 || return 0 # bash 3, as macOS has it
  ((directive & 2)) && compopt -o nospace
  ((directive & 4)) && compopt +o default
  ((directive & 32)) && compopt -o nosort 2>/dev/null # which bash 4.4 brought
  return 0
}

complete -o default -F _mcpc mcpc
