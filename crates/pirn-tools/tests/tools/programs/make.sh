#!/bin/bash
# Makes files with the programs that are installed, as people's folders have them.
#
#   make.sh FOLDER       what Debian's packages and those that come with Python and Node make or ship
#   make.sh FOLDER all   also what npm, Pygments and packages of PyPI and npm make, with their programs on the PATH:
#                        pip install nbformat translate-toolkit tomlkit vobject; npm install terser esbuild svgo
#
# The folder `fixtures` beside this script has the second kind, so that tests need no network. All texts are the script's own.
set -u
out=$(realpath "$1")
packages=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export LC_ALL=C.UTF-8 HOME=$work GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null TZ=UTC

# Runs a step in which `FILE` is the file to make. Where the program is missing or fails there is no file.
make_file() {
    local name=$1
    shift
    FILE=$work/.making
    rm -f "$FILE"
    export FILE
    if "$@" >/dev/null 2>&1 </dev/null && [ -s "$FILE" ]; then mv "$FILE" "$out/$name"; fi
}
# The same with the standard output as the file.
make_output() {
    local name=$1
    shift
    make_file "$name" sh -c '"$@" > "$FILE"' sh "$@"
}
# Copies the first file that is there, of those that a program ships.
ship() {
    local name=$1
    shift
    for file; do
        if [ -f "$file" ]; then
            cp --no-preserve=mode "$file" "$out/$name"
            return
        fi
    done
}

cat > poem.txt <<'END'
Morning comes to the harbour, and the gulls “complain” – as ever.
A café opens; its owner sweeps the pavement.
Nobody hurries here before eight o’clock.
END
cat > program.py <<'END'
"""Counts the words of a poem."""


def count(text: str) -> int:
	return len(text.split())


print(count("Grüße, harbour"))
END
cat > program.c <<'END'
#include <libintl.h>
#define _(text) gettext(text)
int main(void) { return puts(_("Good morning, harbour")); }
END
git init -q repository && (
    cd repository && git config user.name Writer && git config user.email writer@example.org
    printf 'first\r\nsecond\r\nthird' > windows.txt && cp ../poem.txt ../program.py . && git add . && git commit -qm 'Start with a poem'
    printf 'first\r\nanother\r\nthird\r\n' > windows.txt && sed -i 's/eight/nine/' poem.txt && git commit -qam 'Opens later: “nine”'
)

# Version control.
make_output series.patch git -C repository format-patch -1 --stdout
make_output changes.diff git -C repository diff HEAD~1
make_output words.diff git -C repository diff --word-diff HEAD~1
make_output binary.patch git -C repository diff --binary HEAD~1
make_output context.diff sh -c 'diff -c poem.txt program.py; true'
make_output script.ed sh -c 'diff -e poem.txt program.py; true'
make_output fast-import.txt git -C repository fast-export HEAD
make_file git-config sh -c 'cp repository/.git/config "$FILE"'
make_output merge-conflict.txt sh -c 'printf "a\nours\n" > o; printf "a\nbase\n" > b; printf "a\ntheirs\n" > t; git merge-file -p o b t; true'

# Editors.
make_file dos.txt vim -es -u NONE -c 'set ff=dos' -c 'saveas! $FILE' -c qa poem.txt
make_file marked.txt vim -es -u NONE -c 'set bomb' -c 'saveas! $FILE' -c qa poem.txt
make_file utf-16.txt vim -es -u NONE -c 'set fenc=ucs-2le bomb ff=dos' -c 'saveas! $FILE' -c qa poem.txt
make_file mac.txt vim -es -u NONE -c 'set ff=mac' -c 'saveas! $FILE' -c qa poem.txt
make_file no-last-newline.txt vim -es -u NONE -c 'set noeol nofixeol binary' -c 'saveas! $FILE' -c qa poem.txt
make_file session.vim vim -es -u NONE -c 'mksession! $FILE' -c qa poem.txt
make_file page.html vim -es -u NONE -c 'runtime plugin/tohtml.vim' -c TOhtml -c 'saveas! $FILE' -c qa! poem.txt
make_file appended.txt sh -c 'cp poem.txt "$FILE"; printf "a\nappended by hand\n.\nw\nq\n" | ed -s "$FILE"'

# Encodings.
make_output utf-16-be.txt iconv -f utf-8 -t utf-16be poem.txt
make_output utf-16-marked.txt iconv -f utf-8 -t utf-16 poem.txt
make_output windows-1252.txt iconv -f utf-8 -t windows-1252 poem.txt
make_output decomposed.txt python3 -c 'import unicodedata; print(unicodedata.normalize("NFD", "Grüße aus Århus, harbour"))'

# Documents.
make_output manual.txt sh -c 'printf ".TH POEM 1\n.SH NAME\npoem \\- harbour\n" | groff -man -Tutf8'
make_output manual.ps sh -c 'printf ".TH POEM 1\n.SH NAME\npoem \\- harbour\n" | groff -man -Tps'
make_output drawing.ps sh -c 'printf ".PS\nbox \"harbour\"\n.PE\n" | groff -p -Tps'
make_output dump.sql sqlite3 :memory: 'create table words(word text, n int); insert into words values("harbour", 1), ("café", 2);' .dump
make_output tags sh -c 'ctags -f - program.c program.py'

# Translations.
make_output template.pot sh -c 'xgettext -k_ -o - program.c'
make_file german.po sh -c 'xgettext -k_ -o t.pot program.c && msginit --no-translator -l de_DE.UTF-8 -i t.pot -o "$FILE"'
make_file strings.properties sh -c 'xgettext -k_ -o t.pot program.c && msgcat --properties-output -o "$FILE" t.pot'
make_file Localizable.strings sh -c 'xgettext -k_ -o t.pot program.c && msgcat --stringtable-output -o "$FILE" t.pot'

# Python's own writers.
make_file table.csv python3 -c 'import csv, os; csv.writer(open(os.environ["FILE"], "w", newline="")).writerows([["word", "note"], ["harbour", "two\nlines"], ["café", "a, b"]])'
make_file info.plist python3 -c 'import os, plistlib; plistlib.dump({"word": "harbour", "list": [1, 2.5, True]}, open(os.environ["FILE"], "wb"))'
make_file settings.ini python3 -c 'import configparser, os; c = configparser.ConfigParser(); c["harbour"] = {"opens": "8", "name": "café"}; c.write(open(os.environ["FILE"], "w"))'
make_file letters.mbox python3 -c 'import email.message, mailbox, os; m = email.message.EmailMessage(); m["Subject"] = "harbour"; m.set_content("Grüße\nFrom here\n", cte="8bit"); b = mailbox.mbox(os.environ["FILE"]); b.add(m); b.close()'
make_file feed.xml python3 -c 'import os, xml.etree.ElementTree as x; r = x.Element("feed"); x.SubElement(r, "title").text = "harbour & café"; x.ElementTree(r).write(os.environ["FILE"], encoding="utf-16")'
make_file escaped.json python3 -c 'import json, os; json.dump({"word": "harbour", "café": ["\u2028", 1.5]}, open(os.environ["FILE"], "w"), indent="\t")'
python3 -m venv --without-pip environment >/dev/null 2>&1
ship Activate.ps1 environment/bin/Activate.ps1
ship activate.csh environment/bin/activate.csh
ship pyvenv.cfg environment/pyvenv.cfg

# Node and npm.
make_file source-map.json node -e 'fs.writeFileSync(process.env.FILE, JSON.stringify({version: 3, sources: ["harbour.ts"], mappings: "AAAA;;AACA"}))'
npm_folder=$(dirname "$(realpath "$(command -v npm || echo /nowhere)")")
ship npm.ps1 "$npm_folder/npm.ps1"
ship npm.cmd "$npm_folder/npm.cmd"

# What Debian's packages and Python ship: form feeds, tabs, lines of any length.
library=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["stdlib"])' 2>/dev/null)
ship form-feeds.py "$library/email/message.py" "$library/bdb.py" "$library/textwrap.py"
ship tabs.awk /usr/share/awk/getopt.awk /usr/share/awk/inplace.awk
ship perl.pm /usr/share/perl/*/Text/Wrap.pm
ship man.1 /usr/share/perl/*/pod/perlfaq1.pod
ship terminfo.txt /etc/services
ship licence.txt /usr/share/common-licenses/GPL-3
ship grammar.txt "$library/lib2to3/Grammar.txt"
ship vimrc /usr/share/vim/vim*/defaults.vim
ship key.pem /usr/share/ca-certificates/mozilla/ISRG_Root_X1.crt

[ "$packages" = all ] || exit 0

printf 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n#: morning\nmsgctxt "morning"\nmsgid "Good morning, harbour"\nmsgstr "Guten Morgen, Häfen"\n' > strings.po
printf '<?xml version="1.0" encoding="utf-8"?>\n<root>\n  <data name="morning" xml:space="preserve">\n    <value>Good morning, harbour</value>\n  </data>\n</root>\n' > strings.resx
printf 'morning=Good morning, harbour\n' > strings.properties
printf '"morning" = "Good morning, harbour";\n' > strings.strings
printf '{"morning": "Good morning, harbour"}' > strings.json
printf '1\n00:00:01,000 --> 00:00:02,000\nGood morning, harbour\n\n' > strings.srt
printf 'STRINGTABLE\nBEGIN\n  IDS_MORNING "Good morning, harbour"\nEND\n' > strings.rc
make_file Strings.resx po2resx -t strings.resx strings.po "$work/.making"
make_file messages.properties po2prop -t strings.properties strings.po "$work/.making"
make_file messages.strings po2prop --personality=strings -t strings.strings strings.po "$work/.making"
make_file messages.rc po2rc --charset=utf16 -t strings.rc strings.po "$work/.making"
make_file messages.ts po2ts strings.po "$work/.making"
make_file messages.xlf po2xliff strings.po "$work/.making"
make_file messages.tmx po2tmx -l de strings.po "$work/.making"
make_file messages.csv po2csv strings.po "$work/.making"
make_file messages.wordfast po2wordfast -l de strings.po "$work/.making"
make_file messages.json po2json -t strings.json strings.po "$work/.making"
make_file film.srt po2sub -t strings.srt strings.po "$work/.making"
make_file notebook.ipynb python3 -c 'import nbformat, os; n = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Harbour", id="a"), nbformat.v4.new_code_cell("print(\"café\")\nprint(2)", id="b")]); nbformat.write(n, os.environ["FILE"])'
make_file project.toml python3 -c 'import os, tomlkit; d = tomlkit.document(); d.add(tomlkit.comment("harbour")); d["name"] = "café"; d["list"] = [1, 2]; open(os.environ["FILE"], "w").write(tomlkit.dumps(d))'
make_file card.vcf python3 -c 'import os, vobject; c = vobject.vCard(); c.add("fn").value = "Harbour Café"; c.add("note").value = "opens at eight o’clock, as ever, " * 4; n = c.add("n"); n.value = vobject.vcard.Name("Café", "Harbour"); open(os.environ["FILE"], "w", newline="").write(c.serialize())'
printf 'export function greet(harbour) {\n  const words = ["café", "morning"];\n  return words.map((word) => `${word}, ${harbour}\\u2028`).join("\\n");\n}\n' > greet.js
make_output bundle.min.js terser --module --compress --mangle --source-map url=inline greet.js
make_file library.min.js esbuild --bundle --minify --format=iife --global-name=harbour --sourcemap=inline --outfile="$work/.making" --log-level=error greet.js
printf '<?xml version="1.0"?>\n<!-- harbour -->\n<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">\n  <g><rect width="10" height="10" style="fill:#ff0000"/>\n  <text x="1" y="9">café</text></g>\n</svg>\n' > drawing.svg
make_file drawing.min.svg svgo -i drawing.svg -o "$work/.making"
make_output program.rtf pygmentize -f rtf program.py
make_output program.svg pygmentize -f svg program.py
make_output terminal.txt pygmentize -f terminal256 program.py
make_file package-lock.json sh -c 'mkdir -p p && cd p && npm init -y && npm install --offline --no-audit --no-fund && cp package-lock.json "$FILE"'
ship package.json p/package.json
