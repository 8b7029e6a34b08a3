#!/bin/sh
# Installs what the tests of pages and `archsim report --export pdf` open pages with, where a package manager has it.
for name in google-chrome google-chrome-stable chrome chromium chromium-browser \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" /Applications/Chromium.app/Contents/MacOS/Chromium; do
    if found=$(command -v "$name") && "$found" --version >/dev/null 2>&1; then
        case "$(readlink -f "$found" 2>/dev/null || echo "$found")" in */snap | /snap/*) continue ;; esac
        echo "found: $found"
        exit 0
    fi
done
system=unknown
if [ -r /etc/os-release ]; then system=$(. /etc/os-release && echo "$ID ${ID_LIKE-}"); fi
case "$(uname -s) $system" in
Linux\ *ubuntu*)
    echo "On Ubuntu the chromium package is a stub of a snap, which cannot read pages outside the home folder." >&2
    echo "Download Google Chrome's .deb package from https://www.google.com/chrome/ and install it:" >&2
    echo "    sudo apt-get install ./google-chrome-stable_current_amd64.deb" >&2
    exit 1
    ;;
Linux\ *debian*)
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root apt-get update -q &&
        $as_root apt-get install -y -q --no-install-recommends chromium fonts-liberation
    ;;
Darwin*)
    echo "On macOS install Chrome with Homebrew: brew install --cask google-chrome" >&2
    exit 1
    ;;
*)
    echo "Install Chromium or Google Chrome with this system's package manager." >&2
    exit 1
    ;;
esac
