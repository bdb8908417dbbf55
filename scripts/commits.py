# SPDX-License-Identifier: GPL-2.0
"""How our files become commits on a base: what scripts/series and refresh.py share"""

import hashlib
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

TOP = Path(__file__).resolve().parent.parent
BUILD = TOP / "build"
BASES = "7.3", "6.12"           # the newest first

# Where a file of ours belongs to the series; at the top level, by its name.
KERNEL = """arch block certs crypto Documentation drivers fs include init io_uring
    ipc kernel lib mm net rust samples security sound tools usr virt""".split()
FIGURES = "Documentation/figures/"       # of one machine, and not for the kernel
TOP_LEVEL = r"Kconfig\.\w+|[^/]+\.patch"

NAME = "Seed 319f32f2 maintainers"
MAIL = "maintainers@users.noreply.a-seed-319f32f2.example"
FIRST_DAY = 1767225600          # the same input gives the same commit ids


class Refusal(Exception):
    """What the user is told; nothing was changed."""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], **{"text": True} | options,
                          capture_output=True, check=False)
    if done.returncode:
        raise Refusal(str(done.stderr or done.stdout).strip() or
                      f"{command[0]}: exit status {done.returncode}")
    return done.stdout


class Git:
    """git in one work tree, perhaps with an index of its own"""

    def __init__(self, work_tree, index=None):
        self.work_tree = Path(work_tree)
        self.env = dict(os.environ)
        for variable in "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE":
            self.env.pop(variable, None)
        for who in "AUTHOR", "COMMITTER":
            self.env[f"GIT_{who}_NAME"], self.env[f"GIT_{who}_EMAIL"] = NAME, MAIL
        if index:
            self.env["GIT_INDEX_FILE"] = str(index)

    def __call__(self, *args, env=(), **options):
        return run("git", "-C", self.work_tree, *args,
                   env=self.env | dict(env), **options).rstrip("\n")

    def content(self, name):
        return run("git", "-C", self.work_tree, "cat-file", "blob", name, env=self.env, text=False)

    def has(self, *args):
        try:
            self(*args)
        except Refusal:
            return False
        return True


class Patch:
    """One file of series/: a commit message, "---", and what the commit carries"""

    def __init__(self, file):
        self.name = f"series/{file.name}"
        self.message, _, carried = file.read_text().partition("\n---\n")
        self.lines = lines = [line.strip() for line in carried.splitlines() if line.strip()]
        self.entries = [line for line in lines if line.startswith("MAINTAINERS: ")]
        self.paths = [line for line in lines if not line.startswith("MAINTAINERS: ")]

    def files(self, version):
        """What it carries onto a base of that version"""
        variants = [variant(path, version) for path in self.paths]
        return [path for path in variants if path]

    def inputs(self, version):
        """All that the commit depends on besides its parent."""
        yield self.message.encode()
        for path in self.files(version):
            yield f"{path} {mode(path)}".encode()
            yield (TOP / path).read_bytes()
        for entry in self.entries:
            yield entries()[entry].encode()

    def apply(self, git, version):
        """Bring the index of git, which holds the parent, to what the patch makes of it."""
        add_files(git, [path for path in self.paths if not path.endswith(".patch")])
        for path in self.files(version):
            if path.endswith(".patch"):
                with self.named(path):
                    change_file(git, path)
        for entry in self.entries:
            with self.named(entry):
                add_entry(git, entries()[entry])

    @contextmanager
    def named(self, what):
        """Let a refusal say what of the patch it is about."""
        try:
            yield
        except Refusal as error:
            raise Refusal(f"{self.name}: {what} does not apply:\n{error}") from error


def series(version=None):
    """The patches; of those with changes to the kernel alone, the ones for that version"""
    patches = [Patch(file) for file in sorted((TOP / "series").glob("[0-9]*"))]
    return [patch for patch in patches if not version or patch.files(version) or patch.entries]


def variant(path, version):
    """The file that makes a change to a base of that version; None if there is no such change"""
    if "@" in path:
        return path if path.endswith(f"@{version}.patch") else None
    special = f"{path.removesuffix('.patch')}@{version}.patch"
    return special if path.endswith(".patch") and (TOP / special).exists() else path


def mode(path):
    return "100755" if os.access(TOP / path, os.X_OK) else "100644"


def entries():
    """Our entries of MAINTAINERS, each by the line with which a patch carries it."""
    parts = (TOP / "MAINTAINERS").read_text().strip().split("\n\n")
    return {f"MAINTAINERS: {part.splitlines()[0]}": part for part in parts}


def add_files(git, paths):
    """Put files of ours into the index as they are."""
    ids = git("hash-object", "-w", "--no-filters", "--stdin-paths",
              input="".join(f"{TOP / path}\n" for path in paths)).split()
    git("update-index", "--add", "--index-info",
        input="".join(f"{mode(path)} {id}\t{path}\n" for path, id in zip(paths, ids)))


def kernel_file(path):
    """What a .patch of ours changes"""
    return re.sub(r"(\+\w+)?(@[\d.]+)?\.patch$", "", path)


def change_file(git, path):
    changed = git("apply", "--numstat", TOP / path).split("\t")[2:]
    if changed != [kernel_file(path)]:
        raise Refusal(f"it changes {', '.join(changed)}")
    git("apply", "--cached", "--recount", "--whitespace=nowarn", TOP / path)


def add_entry(git, entry):
    """Put an entry into MAINTAINERS, where it is out of order with the fewest others.

    Some of the kernel's own are not where they belong. THE REST stays the last one. Where
    there is an entry of that title, what it lacks is added to it.
    """
    parts = git("cat-file", "blob", ":MAINTAINERS").split("\n\n")
    titles = [title(part) for part in parts]
    if not any(titles):
        raise Refusal("MAINTAINERS has no list of maintainers")
    if title(entry) in titles:
        number = titles.index(title(entry))
        parts[number] = joined(parts[number], entry)
    else:
        disorder = list(accumulate((1 if other > title(entry) else -1 for other in titles[:-1]),
                                   initial=0))
        parts.insert(disorder.index(min(disorder)), entry)
    id = git("hash-object", "-w", "--stdin", input="\n\n".join(parts) + "\n")
    git("update-index", "--cacheinfo", f"100644,{id},MAINTAINERS")


def joined(part, entry):
    """An entry of the kernel's with the lines of ours; its files are in order"""
    lines = part.splitlines()
    lines += [line for line in entry.splitlines()[1:] if line not in lines]
    return "\n".join([line for line in lines if not line.startswith("F:")] +
                     sorted(line for line in lines if line.startswith("F:")))


def title(part):
    """By what an entry of MAINTAINERS is sorted; "" if it is something else"""
    found = re.match(r"(.+)\n[A-Z]:\t", part)
    return found[1].upper() if found else ""


def commits(work_tree, base, remember):
    """Make the commits of the series on top of base; the last one's id.

    The repository may remember each commit, under a name made of its parent and
    its inputs, so that only what is new has to be made.
    """
    with TemporaryDirectory() as scratch:
        git = Git(work_tree, index=f"{scratch}/index")
        made = {}
        if remember:
            made = dict(line.split() for line in git(
                "for-each-ref", "--format=%(refname) %(objectname)", "refs/made").splitlines())
        head, in_index = git("rev-parse", base), None
        version = ".".join(kernel_version(git, base)[:2])
        for number, patch in enumerate(series(version), start=1):
            key = hashlib.sha1(head.encode() + b"\0".join(patch.inputs(version)))
            name = f"refs/made/{key.hexdigest()}"
            if name in made:
                head = made[name]
                continue
            if in_index != head:
                git("read-tree", head)
            patch.apply(git, version)
            date = f"{FIRST_DAY + 60 * number} +0000"
            head = in_index = git(
                "commit-tree", git("write-tree"), "-p", head, input=patch.message + "\n",
                env={"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date})
            if remember:
                git("update-ref", name, head)
        return head


def ours_by_name(path):
    return (path.split("/")[0] in KERNEL and not path.startswith(FIGURES)
            or re.fullmatch(TOP_LEVEL, path))


def check():
    """Each file and each MAINTAINERS entry of ours in one patch, and nothing else in any."""
    if not (TOP / ".git").exists():
        return          # a release, not the place where files are added
    ours = {path for path in run("git", "-C", TOP, "ls-files", "--cached", "--others",
                                 "--exclude-standard").splitlines() if ours_by_name(path)}
    ours = {path for path in ours if (TOP / path).exists()} | entries().keys()
    carried = [(path, patch.name) for patch in series() for path in patch.paths + patch.entries]
    # FILE@VERSION.patch belongs where FILE.patch does.
    variants = {variant(path, version) for path, _ in carried for version in BASES}
    ours -= variants - dict(carried).keys()

    wrong = [f"{path} is in no patch of the series"
             for path in sorted(ours - {path for path, _ in carried})]
    for path in sorted({path for path, _ in carried}):
        patches = [name for other, name in carried if other == path]
        if path not in ours:
            wrong.append(f"{path}, in {patches[0]}, is not ours")
        if len(patches) > 1:
            wrong.append(f"{path} is in {' and in '.join(patches)}")
    wrong += [f"{patch.name} is not signed off" for patch in series()
              if "\nSigned-off-by: " not in patch.message]
    if wrong:
        raise Refusal("\n".join(wrong))


# A Debian source package is a .deb with a tar.xz in it.
IMPORT = """set -o pipefail
case $1 in
*.deb) dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards './usr/src/*.tar.xz' ;;
*) cat "$1" ;;
esac | xz -dc | "$2" "$3" "$4" | git fast-import --quiet --force --depth=0
"""


def import_base(git, source):
    """Make a source a commit without parents, if it is not yet; the ref that has its name."""
    if not source.exists():
        raise Refusal(f"{source} is missing")
    ref = "refs/bases/" + source.name.replace("~", "-")
    status = source.stat()
    stamp = f"{source.resolve()} {status.st_size} {status.st_mtime_ns}"
    key = f"lab.{hashlib.sha1(ref.encode()).hexdigest()}.source"
    if git.has("config", "--get", "--fixed-value", key, stamp):
        return ref
    message = "Linux, as Debian packages it\n"
    commit = f"committer {NAME} <{MAIL}> {FIRST_DAY} +0000\ndata {len(message)}\n{message}"
    run("bash", "-ec", IMPORT, "-", source.resolve(), TOP / "scripts/import-tar", ref, commit,
        cwd=git.work_tree)
    git("config", key, stamp)
    return ref


def kernel_version(git, commit):
    try:
        makefile = git("show", f"{commit}:Makefile")
    except Refusal as error:
        raise Refusal(f"{git.work_tree} is not a kernel source: it has no Makefile") from error
    values = dict(line.split(" = ") for line in makefile.splitlines() if line.count(" = ") == 1)
    return [values.get(part, "?") for part in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]


def repository():
    git = Git(BUILD / "tree")
    # How whoever calls this likes to see a diff is not for files that others get.
    git.env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    if not (BUILD / "tree/.git").exists():
        run("git", "init", "--quiet", "--initial-branch=psi", BUILD / "tree")
        # A repository that is made quickly and thrown away; never pruned, so
        # that what is remembered stays.
        for setting in "core.compression 0", "pack.compression 0", "gc.auto 0":
            git("config", *setting.split())
        # as the kernel's own, which are only there with a work tree: names of functions
        (BUILD / "tree/.git/info/attributes").write_text("*.[ch] diff=cpp\n")
    return git


def base_source():
    """The file that BASE names, or that has the kernel of the version that it is"""
    base = os.environ.get("BASE")
    if base and base not in BASES:
        return Path(base)
    found = subprocess.run([TOP / "scripts/source", "base", *([base] if base else BASES)],
                           text=True, stdout=subprocess.PIPE, check=False)
    if found.returncode:
        raise Refusal("there is no source to apply the series to")
    return Path(found.stdout.strip())


def source_that_was_tried(newer):
    """The same kernel as Debian had it when the series was last tried; None if that is it"""
    version = re.match(r"linux-source-(\d+\.\d+)[_.]", newer.name)
    if not version or newer == Path(os.environ.get("BASE", "")):
        return None
    tried = Path(run(TOP / "scripts/source", "tried", version[1]).strip())
    return tried if tried.name != newer.name else None


def series_on(git, source):
    """The ref of that base, and the last commit of the series on it"""
    base = import_base(git, source)
    return base, commits(git.work_tree, base, remember=True)


def tree():
    check()
    git = repository()
    source = base_source()
    try:
        base, head = series_on(git, source)
    except Refusal as error:
        tried = source_that_was_tried(source)
        if not tried:
            raise
        print(f"{error}\n{source} is not what the series was made for: {tried.name} takes its place",
              file=sys.stderr)
        source = tried
        base, head = series_on(git, source)
    git("update-ref", "refs/tags/base", base)
    (BUILD / "tree/.git/base-source").write_text(f"{source}\n")    # for scripts/test/patch
    if git.has("rev-parse", "--verify", "HEAD"):
        refuse_edits(git, head)
    settle(git, head)


# The last commit that we have put there, by which we know what was edited.
MADE = "refs/tags/series"


def refuse_edits(git, head):
    """Edits in build/tree are somebody's work: don't let head take their place."""
    refuse_unfinished(git, f"""take them with
"git -C build/tree commit" and then "scripts/series refresh", or drop them with
"git -C build/tree reset --hard {head[:12]}\"""")
    made = git.has("rev-parse", "--verify", MADE)
    for name in "HEAD", "refs/heads/psi":
        if made and git("rev-parse", name) not in (git("rev-parse", MADE), head):
            raise Refusal(f"""build/tree has commits that are not made of our files:
take them with "scripts/series refresh", or drop them with
"git -C build/tree checkout --force -B psi {head[:12]}\"""")


def refuse_unfinished(git, advice):
    if state := unfinished(git):
        raise Refusal(f"build/tree is in the middle of something: git has a {state} there")
    if git("status", "--porcelain", "--untracked-files=no"):
        raise Refusal(f"build/tree has changes that are not committed: {advice}")


def settle(git, head):
    """Let head be what is in build/tree."""
    git("checkout", "--quiet", "--force", "-B", "psi", head)
    git("update-ref", MADE, head)


def unfinished(git):
    """What git calls that which somebody has begun there; None, if nothing"""
    states = "rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"
    return next((state for state in states
                 if (git.work_tree / git("rev-parse", "--git-path", state)).exists()), None)
