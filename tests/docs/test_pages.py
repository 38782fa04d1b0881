#!/usr/bin/env python3
"""test_pages.py --site SITE

check_pages.py finds what is wrong with a page, and nothing in one that is right.
"""

import argparse
import contextlib
import io
import os
import sys
import tempfile

import check_pages
from page import Mistake

RIGHT = """
<!-- file: hello.sh -->
```sh
echo "hello, $1"
```

Commands share a shell:

    name=world
    cd /tmp && cd - >/dev/null

then

<!-- first: touch made -->

    $ test -e made && sh hello.sh \\
        $name
    hello, world

and

    echo one; echo 'took 1.25 us'; echo three

```
one
three
```

<!-- output: times vary -->

    $ echo 'p50  17.5 us  ###'; echo 'a and b'
    p50 3 ms ##
    a ... b

<!-- exits: 1 -->

    $ ktrace info missing.ktrace
    ktrace: missing.ktrace: cannot open: No such file or directory

<!-- file: copy.ktrace = tests/data/format/v1.ktrace -->

    $ ktrace info copy.ktrace | head -n 1
    ...

```c
    KTRACE_KERNEL_IF(Traced, "relax");
    ...
    values[i] = x;
```

<!-- not run: nobody may -->

    exit 5

* a list

    with a paragraph

<!-- needs: nvidia gpu -->

    $ false
    no
"""

WRONG = {
    "    false\n": "exit status 1 and not 0",
    "    false; true\n": "failed: false",
    "    $ echo a\n    b\n": "does not print 'b'",
    "    $ printf 'a\\nb\\n'\n    b\n    a\n": "does not print 'a'",
    "    $ echo 'took 1 us'\n    took 2 us\n": "does not print 'took 2 us'",
    "<!-- output: times vary -->\n\n    $ echo 'took 1 us'\n    took 2 waves\n": "does not print 'took 2 waves'",
    "<!-- exits: 3 -->\n\n    true\n": "exit status 0 and not 3",
    "    echo 'a\n\nb\n\n    true\n": "exit status",
    "    exit\n\nb\n\n    true\n": "was not reached",
    "    echo a\n\n```\nb\n```\n": "does not print 'b'",
    "```\nb\n```\n": "output of no command",
    "```c\nint no_file_has_this;\n```\n": "no file of examples/ or tests/",
    "```c\n    values[i] = x;\n    ...\n    KTRACE_KERNEL_IF(Traced, \"relax\");\n```\n": "no file of examples/ or tests/",
    "<!-- file: x.c = examples/two_instances.cu -->\n```c\nint x;\n```\n\n    true x.c\n": "this is not in examples/two_instances.cu",
    "<!-- file: x.c -->\n```c\nint x;\n```\n": "no command of the page uses x.c",
    "<!-- skip: it -->\n\n    true\n": "there is no 'skip'",
    "<!-- not run -->\n\n    true\n": "'not run' says why",
    "<!-- exits: 1 -->\n\ntext\n": "no block follows 'exits: 1'",
    "<!-- exits: 1 -->\n```c\nint x;\n```\n": "'exits' is nothing for code",
    "```c\nint x;\n": "a block without an end",
    "    b\n    $ true\n": "has no output before the first command",
}


def result_of(text, site):
    """(status, what was said) of a page."""
    with tempfile.NamedTemporaryFile("w", suffix=".md", dir=site, encoding="utf-8") as page:
        page.write(text)
        page.flush()
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                status = check_pages.check(os.path.relpath(page.name, check_pages.ROOT), site, check_pages.Pool(), False, "test_page")
            except Mistake as error:
                status, _ = 1, print(error)
    return status, said.getvalue()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--site", required=True)
    site = os.path.abspath(parser.parse_args().site)
    failed = False
    status, said = result_of(RIGHT, site)
    if status != 0 or ": 2 blocks of code, 7 steps run, 2 not here, 0 wrong" not in said:
        print(f"a page that is right: {status}\n{said}")
        failed = True
    for text, wanted in WRONG.items():
        status, said = result_of("\n" + text, site)
        if status != 1 or wanted not in said:
            print(f"{text}\nis {status} and not {wanted!r}:\n{said}")
            failed = True
    os.remove(f"{site}/gpu/test_page.json")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
