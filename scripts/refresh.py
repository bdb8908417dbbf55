# SPDX-License-Identifier: GPL-2.0
"""The way back for scripts/series: what was committed in build/tree becomes our files"""

import re
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory

from commits import (BASES, MADE, TOP, Refusal, check, commits, entries, joined, kernel_file,
                     kernel_version, mode, ours_by_name, refuse_unfinished, repository, run,
                     series, settle, title, variant)


class Commit:
    """One of build/tree's"""

    def __init__(self, text):
        head, _, raw = text.partition("\2")
        self.id, self.tree, self.date, self.subject, self.slug, self.message = head.split("\0")
        self.message = self.message.strip("\n")
        self.patch = None           # of series/, from which it comes
        # path: modes, ids, and A(dded), M(odified) or D(eleted)
        self.changes = {path: what.split() for what, _, path in
                        (line[1:].partition("\t") for line in raw.split("\n") if line)}

    def words(self):
        """Words to call a patch after, the one that it has elsewhere first"""
        words = re.findall(r"\+(\w+)\.patch$", "\n".join(self.patch.lines if self.patch else []),
                           re.M) + re.findall(r"\w+", self.subject.rpartition(": ")[2])
        yield from words
        yield from (f"{words[0]}{number}" for number in count(2))


def history(git, base, head):
    log = git("log", "--reverse", "--raw", "--no-abbrev", "--no-renames",
              "--format=%x01%H%x00%T%x00%at%x00%s%x00%f%x00%B%x02", f"{base}..{head}")
    return [Commit(text) for text in log.split("\1")[1:]]


def match(new, old):
    """Find the patch of each new commit: by its subject, or its date, which rebase keeps."""
    for what in "subject", "date":
        free = {getattr(commit, what): commit.patch for commit in old
                if commit.patch not in [other.patch for other in new]}
        for commit in new:
            if not commit.patch:
                commit.patch = free.pop(getattr(commit, what), None)


def patch_names(commits, version):
    """The .patch of each change to a file of the kernel's, by commit and path"""
    names, later = {}, []
    for commit in commits:
        known = {kernel_file(path): path for path in (commit.patch.paths if commit.patch else [])
                 if path.endswith(".patch") and variant(path, version)}
        for path, what in commit.changes.items():
            if what[-1] in "MD" and path != "MAINTAINERS" and not is_whole(commit, path):
                if path in known:
                    names[commit.id, path] = known[path]
                else:
                    later.append((commit, path))
    for commit, path in later:
        wanted = chain([f"{path}.patch"], (f"{path}+{word}.patch" for word in commit.words()))
        names[commit.id, path] = next(name for name in wanted if name not in names.values())
    return names


def is_whole(commit, path):
    """Is it a file of ours, though the kernel may have one there?"""
    return commit.changes[path][-1] == "A" or bool(commit.patch and path in commit.patch.paths)


def still_applies(git, name, commit, path):
    """Does a .patch of ours, as it is, make the change that the commit makes?"""
    old_mode, new_mode, old, new, what = commit.changes[path]
    if not (TOP / name).exists() or old_mode != new_mode or what != "M":
        return False
    with TemporaryDirectory() as scratch:
        file = Path(scratch, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(git.content(old))
        try:
            run("git", "apply", "--recount", "--whitespace=nowarn", TOP / name, cwd=scratch,
                env=git.env | {"GIT_CEILING_DIRECTORIES": str(Path(scratch).parent)})
        except Refusal:
            return False
        return file.exists() and file.read_bytes() == git.content(new)


def difference(git, commit, path):
    text = run("git", "-C", git.work_tree, "diff", "--no-renames", f"{commit.id}^", commit.id,
               "--", path, env=git.env, text=False)
    return re.sub(rb"^index .*\n", b"", text, count=1, flags=re.M)


def new_entries(git, commit):
    """The entries of MAINTAINERS that a commit adds, or adds to, by title.

    Lines of ours stay, also those that the kernel's entry has.
    """
    ours = entries()
    before, after = (git("cat-file", "blob", id).split("\n\n")
                     for id in commit.changes["MAINTAINERS"][2:4])
    known = {title(part): part for part in before if title(part)}
    added = {}
    for part in [part for part in after if title(part)]:
        was, lines = known.get(title(part), "").splitlines(), part.splitlines()
        if lines != was:
            kept = ours.get(f"MAINTAINERS: {lines[0]}", "").splitlines()
            added[title(part)] = "\n".join(lines[:1] + [
                line for line in lines[1:] if line not in was or line in kept])
    again = [known[title(part)] if title(part) in known else part for part in after
             if title(part) in known or title(part) not in added]
    if again != before or any(joined(known[name], entry) not in after
                              for name, entry in added.items() if name in known):
        raise Refusal(f"{commit.subject}: a patch can add entries to MAINTAINERS, and no more; "
                      "change one of ours in the commit that adds it")
    return added


def carried(git, commit, old, names, entries_of_all, version):
    """What a commit is in our files: the lines of its patch, and {path: (content, mode)}"""
    lines = {path for path in (commit.patch.paths if commit.patch else [])
             if not variant(path, version)}
    files = {}
    was = next((other.changes for other in old if other.patch is commit.patch), {})
    for path, change in commit.changes.items():
        if not ours_by_name(path) and path != "MAINTAINERS":
            raise Refusal(f"{commit.subject}: the series cannot carry {path}")
        if change[1] not in ("100644", "100755", "000000"):
            raise Refusal(f"{commit.subject}: {path} is no file")
        if path == "MAINTAINERS":
            added = new_entries(git, commit)
            entries_of_all |= added
            lines |= {f"MAINTAINERS: {part.splitlines()[0]}" for part in added.values()}
        elif is_whole(commit, path):
            lines.add(path)
            files[path] = git.content(change[3]), change[1]
        else:
            name = names[commit.id, path]
            lines.add(name)
            name = variant(name, version)
            # A hunk's line numbers are no reason to write it anew.
            if was.get(path) != change and not still_applies(git, name, commit, path):
                files[name] = difference(git, commit, path), "100644"
    return lines, files


def by_kind(line):
    return not line.startswith("MAINTAINERS: "), line


def files_of(git, new, old, version):
    """{path: (content, mode), or None for one that goes} of what the commits are in our files"""
    names, entries_of_all, files, kept = patch_names(new, version), {}, {}, set()
    gone = {path for commit in old for path in [commit.patch.name, *commit.patch.paths]}
    first = new[0].patch if new else None
    for number, commit in enumerate(new, start=not (first and first.name[:11] == "series/0000")):
        patch, slug = commit.patch, commit.slug
        lines = patch.lines if patch else []
        now, contents = carried(git, commit, old, names, entries_of_all, version)
        for path in contents.keys() & files.keys():
            raise Refusal(f"{commit.subject}: {path} was added before")
        files |= contents
        lines = sorted(now, key=by_kind) if now != set(lines) else lines
        kept |= {file for line in lines for file in (line, *(variant(line, version)
                                                             for version in BASES))}
        if patch and patch.message.startswith(commit.subject + "\n"):
            slug = patch.name.partition("-")[2]         # perhaps a shorter one
        text = "\n".join([commit.message, "---", *lines, ""])
        files[f"series/{number:04}-{slug}"] = text.encode(), "100644"
    if entries_of_all:
        files["MAINTAINERS"] = "".join(
            f"{part}\n\n" for _, part in sorted(entries_of_all.items()))[:-1].encode(), "100644"
    gone |= {variant(path, version) for path in gone for version in BASES} - {None}
    files |= dict.fromkeys(gone - kept - files.keys())
    return {path: wanted for path, wanted in files.items() if wanted != present(path)}


def present(path):
    return ((TOP / path).read_bytes(), mode(path)) if (TOP / path).exists() else None


@contextmanager
def replaced(files):
    """Write and remove files; put everything back if there is a refusal then."""
    before = {path: present(path) for path in files}
    try:
        put(files)
        yield
    except BaseException:
        put(before)
        raise


def put(files):
    for path, wanted in files.items():
        file = TOP / path
        if wanted is None:
            file.unlink(missing_ok=True)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(wanted[0])
        if mode(path) != wanted[1]:
            file.chmod(file.stat().st_mode ^ 0o111)


def refresh():
    check()
    git = repository()
    if not git.has("rev-parse", "--verify", MADE):
        raise Refusal('build/tree was not made yet: "scripts/series tree" does it')
    refuse_unfinished(git, 'commit them, with "git commit" or "git commit --amend"')
    if git("rev-parse", "--abbrev-ref", "HEAD") != "psi":
        raise Refusal("build/tree is not on its branch psi")
    base = git("rev-list", "--max-parents=0", MADE)
    made = commits(git.work_tree, base, remember=True)
    if made != git("rev-parse", MADE):
        raise Refusal("""our files have changed since build/tree was made of them. Put them back
as they were ("git stash", or "git checkout" of that commit), refresh, and merge the two.""")
    if (not git.has("merge-base", "--is-ancestor", base, "psi") or
            git("rev-list", "--merges", f"{base}..psi")):
        raise Refusal("the commits of build/tree have to be one after another, on its base")

    old, new = history(git, base, made), history(git, base, "psi")
    version = ".".join(kernel_version(git, base)[:2])
    for commit, patch in zip(old, series(version)):
        commit.patch = patch
    match(new, old)
    files = files_of(git, new, old, version)
    with replaced(files):
        check()
        head = commits(git.work_tree, base, remember=True)
        for commit, again in zip(new, history(git, base, head)):
            if (commit.tree, commit.message) != (again.tree, again.message):
                raise Refusal(f"{commit.subject}: our files would not make the same of it:\n" +
                              git("diff", "--stat", commit.id, again.id))
    settle(git, head)
    for path, wanted in sorted(files.items()):
        print(path if wanted else f"{path} is gone")
