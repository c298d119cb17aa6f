#!/usr/bin/env bash
# Makes the pictures of docs/dev/pictures.md and of docs/inspect.md: runs mcpc in real terminal
# emulators, and in Chromium, on a display in memory, in dark and in light, and photographs it.
#
#   pictures.sh [--out DIR] [SCENE...]     SCENE as 1-list; all of them without one
#
# A scene is a file scripts/pictures/NAME.scene: lines behind "$ " are commands, those
# behind "# " headings, and PROMPT|TEXT is what a person types when the
# regular expression PROMPT stands on the screen. NAME.play, where there is one, is
# played by mcpc mock, as the session "weather"; @CHART@ and @BELL@ in it are an image and
# a sound in base64. The scenes sixel and blocks are for xterm, which draws the first of
# them as a VT340 does, the others for kitty.
#
# The scenes inspect and page show a recording of mcpc shell, which runs inspect.shell with
# the demo server. In inspect.scene, TEXT @DONE@ ends the scene while mcpc runs; page.scene and home.scene
# are the fragments of the page's URL. home.servers is a configuration file for the scene home.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$root/docs/pictures
columns=92

programs=(kitty:kitty xterm:xterm Xvfb:xvfb import:imagemagick pngquant:pngquant xdotool:xdotool
  chromium:chromium)

main() {
  [[ ${1:-} != --out ]] || { out=$2; shift 2; }
  install_programs
  work=$(mktemp -d)
  pids=()
  trap cleanup EXIT
  mkdir -p "$out" "$work/bin"
  (cd "$root" && CGO_ENABLED=0 go build -trimpath -o "$work/bin/mcpc" ./cmd/mcpc)
  export PATH=$work/bin:$PATH
  make_contents
  start_display
  start_demo
  local scenes=("$@") scene theme
  if [[ ${#scenes[@]} == 0 ]]; then
    for scene in "$root"/scripts/pictures/*.scene; do scenes+=("$(basename "$scene" .scene)"); done
  fi
  for scene in "${scenes[@]}"; do
    for theme in dark light; do shoot "$scene" "$theme"; done
  done
  du -ch "$out"/*.png | tail -1
}

cleanup() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}

# install_programs brings what is missing from Debian's packages.
install_programs() {
  local missing=(fonts-dejavu-core fonts-noto-color-emoji) entry
  dpkg -s "${missing[@]}" >/dev/null 2>&1 && missing=()
  for entry in "${programs[@]}"; do
    command -v "${entry%%:*}" >/dev/null || missing+=("${entry#*:}")
  done
  [[ ${#missing[@]} == 0 ]] && return
  echo "pictures: installing ${missing[*]}" >&2
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# make_contents draws the chart and writes the sound: two seconds at 8 kHz.
make_contents() {
  /usr/bin/convert -size 480x240 gradient:'#0b3d6b'-'#7fb7dd' \
    -fill '#ffd75e' -draw 'circle 400,52 400,80' \
    -fill none -stroke '#ffffff30' -strokewidth 1 -draw 'line 20,60 460,60 line 20,120 460,120 line 20,180 460,180' \
    -fill '#ffffff40' -stroke none -draw 'polygon 20,220 20,170 75,182 130,150 185,96 240,70 295,88 350,130 405,158 460,166 460,220' \
    -fill none -stroke white -strokewidth 4 -draw 'line 20,170 75,182 line 75,182 130,150 line 130,150 185,96 line 185,96 240,70' \
    -draw 'line 240,70 295,88 line 295,88 350,130 line 350,130 405,158 line 405,158 460,166' \
    "$work/chart.png"
  { printf 'RIFF\x24\x3f\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\x80\x3e\0\0'
    head -c 16000 /dev/zero; } >"$work/bell.wav"
}

start_display() {
  exec 3<>"$work/display"
  Xvfb -displayfd 3 -screen 0 1400x2000x24 +extension GLX >"$work/xvfb.log" 2>&1 &
  pids+=($!)
  local number
  until number=$(grep -m1 . "$work/display"); do sleep 0.1; done
  export DISPLAY=:$number LIBGL_ALWAYS_SOFTWARE=1
}

# listening starts a server and waits for the address that it prints.
listening() {
  local log=$1
  shift
  : >"$log"
  "$@" >"$log" 2>&1 &
  pids+=($!)
  until grep -q 'http://' "$log"; do sleep 0.1; done
  address=$(grep -om1 'http://[^ ,;]*' "$log")
}

start_demo() {
  listening "$work/auth.log" mcpc demo --listen 127.0.0.1:0 --auth
  auth=$address
  listening "$work/demo.log" mcpc demo --listen 127.0.0.1:0
  demo=$address
}

# shoot plays one scene in one theme, and keeps its picture.
shoot() {
  local scene=$1 theme=$2 home=$work/$1-$2 text
  mkdir -p "$home"
  export MCPC_STATE=$home/state CI= LESS=FRX
  unset SSH_CONNECTION SSH_TTY NO_COLOR
  if [[ -f $root/scripts/pictures/$scene.play ]]; then
    text=$(<"$root/scripts/pictures/$scene.play")
    text=${text//@CHART@/$(base64 -w0 "$work/chart.png")}
    printf '%s\n' "${text//@BELL@/$(base64 -w0 "$work/bell.wav")}" >"$home/play"
    listening "$home/mock.log" mcpc mock --script "$home/play" --listen 127.0.0.1:0
    mcpc init "$address" --as weather >/dev/null
  fi
  case $scene in inspect | page) record_calls ;; esac
  sed "s|@AUTH@|$auth|" "$root/scripts/pictures/$scene.scene" >"$home/scene"
  if [[ $scene == home ]]; then
    mkdir -p "$home/.cursor"
    sed "s|@AUTH@|$auth|; s|@DEMO@|$demo|" "$root/scripts/pictures/home.servers" >"$home/.cursor/mcp.json"
  fi
  case $scene in
  sixel) in_xterm "$home" "$theme" vt340 ;;
  blocks) in_xterm "$home" "$theme" vt420 ;;
  page) in_chromium "$home" "$theme" 3 ;;
  home) in_chromium "$home" "$theme" 12 --allow call ;; # until all servers are asked
  inspect) in_kitty "$home" "$theme" 112 44 ;;
  *) in_kitty "$home" "$theme" "$columns" 62 ;;
  esac
  develop "$home/screen.png" "$out/$scene-$theme.png"
}

# record_calls records a session with progress, a stream that is cut, a question and errors.
record_calls() {
  mcpc shell "$demo" --protocol 2025-11-25 --answer-defaults --answer name=Ada \
    <"$root/scripts/pictures/inspect.shell" >/dev/null 2>&1 || [[ $? == 6 ]] # the worst of its calls
}

# in_kitty plays a scene in kitty, which is asked what it shows and told what to type,
# in a window of so many columns and lines.
in_kitty() {
  local home=$1 socket=unix:$1/socket line prompt
  kitty --config NONE -o allow_remote_control=yes --listen-on "$socket" -o font_family='DejaVu Sans Mono' -o font_size=11 \
    -o remember_window_size=no -o initial_window_width="$3c" -o initial_window_height="$4c" -o hide_window_decorations=yes \
    -o window_padding_width=10 -o cursor_blink_interval=0 -o cursor_shape=block -o confirm_os_window_close=0 -o enable_audio_bell=no \
    $(palette "$2" | sed 's/^/-o /') --directory "$home" bash "$root/scripts/pictures/play.sh" "$home/scene" >"$home/kitty.log" 2>&1 &
  local pid=$!
  pids+=("$pid")
  { grep '|' "$home/scene" || true; } | grep -v '^[$#]' >"$home/typed" || true
  while IFS='|' read -r prompt line; do
    awaits "$socket" "$prompt" "$home"
    if [[ $line == @DONE@ ]]; then touch "$home/done"; else kitty @ --to "$socket" send-text "$line\r"; fi
  done <"$home/typed"
  until [[ -f $home/done ]]; do sleep 0.2; done
  photograph "$home/screen.png"
  kill "$pid"
}

# awaits waits until the end of the screen matches.
awaits() {
  local shown=
  until [[ $shown =~ $2$ ]]; do
    sleep 0.3
    shown=$(kitty @ --to "$1" get-text 2>/dev/null | sed 's/ *$/ /' | grep -v '^ *$' | tail -1 || true)
  done
}

# in_xterm plays a scene in xterm as the terminal of DEC that is named.
in_xterm() {
  local home=$1 colour colours=()
  for colour in $(palette "$2"); do colours+=(-xrm "XTerm*VT100.${colour/=/: }"); done
  xterm -ti "$3" -xrm 'XTerm*decTerminalID: '"$3" -xrm 'XTerm*numColorRegisters: 256' -xrm 'XTerm*scrollBar: false' \
    -fa 'DejaVu Sans Mono' -fs 11 -geometry ${columns}x34+0+0 -b 10 "${colours[@]}" -tn xterm-256color \
    -e bash -c "cd '$home' && exec bash '$root/scripts/pictures/play.sh' '$home/scene'" >"$home/xterm.log" 2>&1 &
  local pid=$!
  pids+=("$pid")
  until [[ -f $home/done ]]; do sleep 0.2; done
  photograph "$home/screen.png"
  kill "$pid"
}

# in_chromium opens the page in the folder of the scene, and waits so many seconds until all is shown.
# Further arguments are flags of mcpc inspect.
in_chromium() {
  local home=$1 seconds=$3 dark=1
  [[ $2 == light ]] || dark=0 # what Blink calls it
  cd "$home"
  HOME=$home listening "$home/web.log" mcpc inspect --web --no-open "${@:4}"
  cd - >/dev/null
  chromium --no-sandbox --disable-gpu --no-first-run --test-type --user-data-dir="$home/profile" --kiosk --window-position=0,0 \
    --window-size=1280,760 --blink-settings=preferredColorScheme=$dark --app="$address&$(<"$home/scene")" >"$home/chromium.log" 2>&1 &
  local pid=$!
  pids+=("$pid")
  xdotool search --sync --onlyvisible --name 'mcpc inspect' >/dev/null
  sleep "$seconds"
  photograph "$home/screen.png"
  kill "$pid"
  wait "$pid" || true
}

# palette prints kitty's settings of a theme: One Half, whose sixteen colours are meant
# for both grounds.
palette() {
  local -a names=(background foreground cursor color0 color1 color2 color3 color4 color5 color6 color7 color8)
  local -a dark=(282c34 dcdfe4 a3b3cc 282c34 e06c75 98c379 e5c07b 61afef c678dd 56b6c2 dcdfe4 5d677a)
  local -a light=(fafafa 383a42 bfceff 383a42 e45649 50a14f c18401 0184bc a626a4 0997b3 fafafa 4f525e)
  local -n colours=$1
  local i
  for i in "${!names[@]}"; do echo "${names[i]}=#${colours[i]}"; done
}

# photograph takes the picture of the only window.
photograph() {
  sleep 1
  import -window "$(xdotool search --onlyvisible --name . | tail -1)" "$1"
}

# develop cuts the empty lines below away, and makes a picture small.
develop() {
  local ground box height
  ground=$(/usr/bin/convert "$1" -format '%[pixel:p{4,4}]' info:)
  box=$(/usr/bin/convert "$1" -bordercolor "$ground" -border 1 -format '%@' info:)
  height=$(sed 's/.*x\([0-9]*\)+[0-9]*+\([0-9]*\)/\1 + \2 + 10/' <<<"$box")
  /usr/bin/convert "$1" -crop "x$((height))+0+0" +repage -strip "$1.cut.png"
  pngquant --force --strip --speed 1 --output "$2" 64 "$1.cut.png"
}

main "$@"
